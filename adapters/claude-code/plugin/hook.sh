#!/bin/sh
# Calls `turnbell hook EVENT` with the client's payload on stdin, for events that the session's worker does not handle.
# The output of SessionStart contains the primer for the model.
#
# turnbell's program is two folders above the shim. Without it the hook does nothing.
program=$(dirname "$0")/../../turnbell.cjs
[ -f "$program" ] || exit 0
# Node as named by `turnbell connect`; if that is missing, as after an upgrade, from PATH; without Node do nothing.
node=${TURNBELL_NODE:-node}
command -v "$node" >/dev/null 2>&1 || node=node
command -v "$node" >/dev/null 2>&1 || exit 0
# A persona set when the session was started takes precedence over the connected one, and so does its home.
persona=${TURNBELL_PERSONA:-$TURNBELL_CONNECTED_PERSONA}
home=$TURNBELL_HOME
[ -n "$TURNBELL_PERSONA" ] || home=${TURNBELL_CONNECTED_HOME:-$home}
set -- hook "$1" --client claude-code
[ -z "$persona" ] || set -- "$@" --persona "$persona"
[ -z "$home" ] || set -- "$@" --home "$home"
"$node" "$program" "$@"
# A failure must not reach the client.
exit 0
