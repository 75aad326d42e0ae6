"""What the codes of a plan mean, in a sentence, and what can be done about it: the same on the screen and in text."""

SENTENCES = {
    "graph_changed": "The graph is not the one that the run was made with, and its tokens stand between nodes of the "
    "old one. Go back to the code that the run was made with, or start a new run.",
    "tool_missing": "A call that is still to be made needs a tool that the code no longer has. Put the tool back, "
    "deny or answer the call, or accept that the model is told that it is gone.",
    "arguments_invalid": "The arguments of a call do not fit its tool as it is today, or a result does not fit its "
    "node. Edit them, deny the call, or give another result.",
    "hook_missing": "A hook or an approval that watched over this run is no longer there, so what it would have kept "
    "from happening could happen. Put it back, or accept that it is gone.",
    "definition_unknown": "The file does not say what the code was, so nobody can tell whether today's fits.",
    "not_resumable": "Nothing here can go on with this run; it can be looked at.",
    "step_not_resumable": "The run can go on, but not from this step. Choose another one.",
    "deadlock": "Nothing can fire: a queue is full, and nobody takes from it. Let the code give it a larger capacity; "
    "R begins again from an earlier step.",
    "terminal": "The run is over, and nothing of it is left to run as it stands. R begins again from a step before the "
    "last.",
    "model_in_flight": "A model request was sent and no answer is recorded. Sending it again is paid again; accept "
    "that, or leave the run as it is.",
    "owned": "Somebody is driving this run right now. Follow it, or wait; where it can be taken over, that stops the "
    "other at its next boundary.",
    "edit_invalid": "A value was edited to what cannot stand there. Edit it again, or take the edit back.",
    "value_unreadable": "What was saved cannot be read back: a class of it is missing, or the file is damaged.",
    "inputs_missing": "The run waits for inputs that nobody gave. Answer them.",
    "version_unsupported": "The file was written in a version that is not known here.",
    "other_run": "The code is not the program that this run was made with. Name the right one, or accept that another "
    "goes on.",
    "begins_anew": "The run was cut short as it began. Accept that it begins again, from what the file holds of its "
    "input.",
    "plan_changed": "The file or the code changed since this plan was made, so it was made again. Look at it once "
    "more.",
    "tool_changed": "A tool that is to be called is not what it was. Accept that the new one runs.",
    "runs_again": "Something that is already done would be done once more.",
    "side_effects": "What has happened behind this step stays as it is: nothing undoes it, and what runs again may do "
    "it again.",
    "already_resumed": "Somebody has gone on with this run before. Going on again makes a second run, and may do "
    "things twice.",
    "parameters_unknown": "The file does not say what some parts were set to, so that today's settings are used.",
    "graph_reordered": "Nodes or edges of the network stand in another order than in the run. That of edges means "
    "nothing; that of nodes says whose turn it is.",
    "parameter_changed": "Firings of the run may have gone by what was not to change. Mend the body, and go on from a "
    "step before them, where that matters.",
    "replay_may_stop": "What was done is replayed by running the same code on the same tokens, and may come out "
    "differently; then it stops there.",
    "extra_tools": "There are tools that are new. The calls that wait cannot use them; the model may, later.",
    "state_dropped": "A field of a node's state was renamed or removed. Its next firing begins without the saved "
    "value.",
    "state_changed": "A field of a node's state has another type than what was saved in it. Its next firing gets what "
    "was saved.",
    "node_changed": "The body of a node, or what it is set to, changed. The new one runs from here on.",
    "edge_changed": "A queue may hold more or fewer tokens than before. That holds from here on.",
    "settings_changed": "What the network is run with changed. The new holds from here on.",
    "definition_changed": "The code is not what the durable run was begun with, and such a run keeps to its code. Go "
    "back to that, or accept that it goes on with the code of today.",
    "both_branches": "A loop or an if of wfpy runs both of its branches here.",
    "checkpoint_differs": "The checkpoint and the journal do not say the same. What is resumed is the checkpoint.",
    "context_journal": "The shared context is as it was; how it came to be so is not known to the new run.",
    "pickled": "Saved values name code that runs when they are read back. Go on only with a file that you trust.",
}
"""The sentence of each code of `check`."""


def sentence(code: str) -> str | None:
    """What a code means; None for one that has no sentence."""
    return SENTENCES.get(code)
