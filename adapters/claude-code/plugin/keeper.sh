#!/bin/sh
# Keeps one worker running for one Claude Code session.
#
# The client does not restart a dead stdio server. It uses the stateless revision of MCP, so a new worker on the
# same pipes continues without a handshake. A worker that exits with 0 was stopped or has lost its client; any other
# exit restarts it, with backoff. Windows has no /bin/sh, so the plugin does not start there.
TURNBELL_HOST_PID=$PPID
TURNBELL_RESPAWN=0
export TURNBELL_HOST_PID TURNBELL_RESPAWN
here=$(dirname "$0")
failures=0
reported=0
# The client ends its servers with SIGINT and waits for them. A shell that waits for a program handles no signal, so the
# worker runs beside it; a program beside a shell has an empty input unless it gets another one.
exec 3<&0
worker=
trap '[ -z "$worker" ] || kill "$worker" 2>/dev/null; exit 0' INT TERM
while :; do
  began=$(date +%s)
  # Node as named by `turnbell connect`; if that is missing, as after an upgrade, from PATH.
  node=${TURNBELL_NODE:-node}
  command -v "$node" >/dev/null 2>&1 || node=node
  if command -v "$node" >/dev/null 2>&1; then
    "$node" "$here/shim.js" <&3 3<&- &
    worker=$!
    wait "$worker" && exit 0
    worker=
    TURNBELL_RESPAWN=1
  elif [ $reported = 0 ]; then
    # Reported once, because the search is repeated until the session ends.
    echo "turnbell: node not found, neither as ${TURNBELL_NODE:-node} nor in PATH" >&2
    reported=1
  fi
  # A worker that cannot start does not notice the exit of its client.
  kill -0 "$TURNBELL_HOST_PID" 2>/dev/null || exit 0
  if [ $(($(date +%s) - began)) -ge 10 ]; then failures=0; fi
  failures=$((failures + 1))
  # During an upgrade the file is missing for a moment only.
  if [ ! -f "$here/shim.js" ] && [ $failures -gt 7 ]; then
    echo "turnbell is no longer installed in $here" >&2
    exit 0
  fi
  case $failures in
    1 | 2 | 3) sleep 0.2 ;;
    4 | 5) sleep 1 ;;
    6 | 7) sleep 5 ;;
    *) sleep 30 ;;
  esac
done
