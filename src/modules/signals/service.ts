/** Composition of the signals module. */
import { createAck } from './ack.ts'
import { createBroadcast } from './broadcast.ts'
import { createCancel } from './cancel.ts'
import { createDoorbellReports } from './doorbell-reports.ts'
import { createDrain } from './drain.ts'
import { createInProgress } from './in-progress.ts'
import { createInbox } from './inbox.ts'
import { createLeases } from './leases.ts'
import { createPending } from './pending.ts'
import { createRelease, createReplay } from './release-replay.ts'
import { createSender } from './send.ts'
import { createSweep } from './sweep.ts'
import type { OperationDeps, SignalDeps, SignalModule } from './types.ts'

export function createSignals(module_deps: SignalDeps): SignalModule {
  const leases = createLeases(module_deps)
  const deps: OperationDeps = {
    ...module_deps,
    sessions: (identity) => [
      ...new Set([...module_deps.routes.sessions(identity), ...leases.recentSessions(identity)]),
    ],
  }
  const in_progress = createInProgress(deps, leases)
  const sender = createSender(deps)

  return {
    start: leases.start,
    send: sender.send,
    broadcast: createBroadcast(deps, sender),
    drain: createDrain(deps, leases, in_progress),
    ack: createAck(deps, sender),
    cancel: createCancel(deps),
    release: createRelease(deps, leases),
    replay: createReplay(deps),
    ...createPending(deps, in_progress),
    ...createInbox(deps),
    inProgress: in_progress.list,
    turnReported: leases.turnReported,
    sessionLost: leases.sessionLost,
    sessionSeen: leases.sessionSeen,
    doorbellReported: createDoorbellReports(deps),
    sweep: createSweep(deps, leases),
  }
}
