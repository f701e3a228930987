#!/bin/sh
# Waits for one bell that the session's inbox did not take, and wakes the session with it.
#
# The client runs this in the background after every turn and goes on when it ends with 2, with what stands
# on stderr. It costs one sleeping shell. It is for a session in a terminal only: a client that was given
# one prompt waits for such a hook, and one without a window is woken by the process that keeps it.
[ "$CLAUDE_CODE_ENTRYPOINT" = cli ] || exit 0
[ -n "${TURNBELL_PERSONA:-$TURNBELL_CONNECTED_PERSONA}" ] && [ -n "$CLAUDE_PID" ] || exit 0
# The home in which the session's worker looks for the pipe: the connected one only where nobody started the
# session for a persona.
home=$TURNBELL_HOME
[ -n "$TURNBELL_PERSONA" ] || home=${TURNBELL_CONNECTED_HOME:-$home}
pipe=${home:-$HOME/.turnbell}/run/claude-$CLAUDE_PID.bell
[ -p "$pipe" ] || mkfifo -m 600 "$pipe" 2>/dev/null || exit 0
# One at a time, the newest: an older one may belong to a session that was cleared since.
older=$(cat "$pipe.waiter" 2>/dev/null)
echo $$ >"$pipe.waiter"
case $older in
  '' | *[!0-9]*) ;;
  # By its name, too: the number may be another program's by now. A slim system has /proc and no such ps.
  *)
    older_is=$({ tr '\0' ' ' <"/proc/$older/cmdline" || ps -o args= -p "$older"; } 2>/dev/null)
    case $older_is in *waiter.sh*) kill "$older" 2>/dev/null ;; esac
    ;;
esac
# An empty line says that the client is gone.
IFS= read -r bell <"$pipe"
[ "$(cat "$pipe.waiter" 2>/dev/null)" != $$ ] || rm -f "$pipe.waiter"
[ -n "$bell" ] || exit 0
printf '%s\n' "$bell" >&2
exit 2
