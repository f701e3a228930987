#!/bin/sh
# Waits for one doorbell that the session's inbox did not accept, and wakes the session with it.
#
# The client runs this hook in the background after every turn. An exit code of 2 starts a turn with the text on
# stderr. It costs one sleeping shell. It is used only in terminals: a client with a single prompt would wait for
# the hook, and a headless session is woken by the process that keeps it.
[ "$CLAUDE_CODE_ENTRYPOINT" = cli ] || exit 0
[ -n "${TURNBELL_PERSONA:-$TURNBELL_CONNECTED_PERSONA}" ] && [ -n "$CLAUDE_PID" ] || exit 0
# The home in which the session's worker opens the pipe; the connected home only if no persona was set at the start.
home=$TURNBELL_HOME
[ -n "$TURNBELL_PERSONA" ] || home=${TURNBELL_CONNECTED_HOME:-$home}
pipe=${home:-$HOME/.turnbell}/run/claude-$CLAUDE_PID.bell
[ -p "$pipe" ] || mkfifo -m 600 "$pipe" 2>/dev/null || exit 0
# Only the newest waiter runs: an older one may belong to a session that was cleared.
older=$(cat "$pipe.waiter" 2>/dev/null)
echo $$ >"$pipe.waiter"
case $older in
  '' | *[!0-9]*) ;;
  # The name is checked, too, because the pid may have been reused. A slim system has /proc and no full ps.
  *)
    older_is=$({ tr '\0' ' ' <"/proc/$older/cmdline" || ps -o args= -p "$older"; } 2>/dev/null)
    case $older_is in *waiter.sh*) kill "$older" 2>/dev/null ;; esac
    ;;
esac
# An empty line means that the client has exited.
IFS= read -r bell <"$pipe"
[ "$(cat "$pipe.waiter" 2>/dev/null)" != $$ ] || rm -f "$pipe.waiter"
[ -n "$bell" ] || exit 0
printf '%s\n' "$bell" >&2
exit 2
