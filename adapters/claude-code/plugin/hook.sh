#!/bin/sh
# Calls `turnbell hook EVENT` with the client's payload on stdin, for events that the session's worker does not handle.
# The output of SessionStart contains the primer for the model.
#
# It stands beside the shim, as turnbell itself does two folders above. Where it does not, there is nobody to tell.
program=$(dirname "$0")/../../turnbell.cjs
[ -f "$program" ] || exit 0
# By the name that it was connected with; where that is gone, as after an upgrade, by PATH; without Node in silence.
node=${TURNBELL_NODE:-node}
command -v "$node" >/dev/null 2>&1 || node=node
command -v "$node" >/dev/null 2>&1 || exit 0
# Who started the session for a persona wins over whom the project is connected to, and so with the home.
persona=${TURNBELL_PERSONA:-$TURNBELL_CONNECTED_PERSONA}
home=$TURNBELL_HOME
[ -n "$TURNBELL_PERSONA" ] || home=${TURNBELL_CONNECTED_HOME:-$home}
set -- hook "$1" --client claude-code
[ -z "$persona" ] || set -- "$@" --persona "$persona"
[ -z "$home" ] || set -- "$@" --home "$home"
"$node" "$program" "$@"
# Whatever became of it is nothing to the client.
exit 0
