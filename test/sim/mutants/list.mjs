/**
 * Planted bugs, applied one at a time: each breaks a promise, and the simulation must detect it. `find` occurs exactly
 * once in the file and is replaced before the file is bundled. `seed` is tried first, for bugs that the first seeds do
 * not detect. `ends` marks a bug that is detected by a crash or hang; any other must be detected by a rule. `test`
 * names a test file that detects the bug, for code that the simulation replaces.
 */
export const MUTANTS = [
  {
    name: 'receipt before sync',
    file: 'src/storage/file/journal/journal.ts',
    find: 'return last === null ? NOTHING_TO_WAIT_FOR : last.done',
    replace: 'return NOTHING_TO_WAIT_FOR',
  },
  {
    name: 'failed sync taken for a good one',
    file: 'src/storage/file/journal/journal.ts',
    find: 'const failure = error ?? this.ownershipError()',
    replace: 'const failure = this.ownershipError()',
  },
  {
    name: 'recovered lines never synced',
    file: 'src/storage/file/signals/recovery.ts',
    find: '    rewriteUnproven(disk, segment, this.last_commit, bytes)\n',
    replace: '',
  },
  {
    name: 'what a failed sync lost is only synced again',
    file: 'src/storage/file/signals/recovery.ts',
    find: 'writeFully(disk, fd, bytes.subarray(0, disk.read(fd, bytes, from)), from)',
    replace: '',
  },
  {
    name: 'a new segment whose name a power cut takes',
    file: 'src/storage/file/journal/journal.ts',
    find: 'this.fd_segment = segment\n    disk.syncDirectory(directory)',
    replace: 'this.fd_segment = segment',
  },
  {
    name: 'torn end believed',
    file: 'src/storage/file/signals/recovery.ts',
    find: 'if (torn !== null) cutTail(this.recovery, segment, torn.offset, torn.reason)',
    replace: 'torn = null',
  },
  {
    name: 'half a broadcast kept',
    file: 'src/storage/file/signals/recovery.ts',
    find: 'if (head.left === 0 && this.group.length === 0) {',
    replace: 'if (head.left >= 0) {',
    seed: 107,
  },
  {
    name: 'stale hub goes on writing',
    file: 'src/storage/file/journal/fencing-epoch.ts',
    find: 'if (current === number) return',
    replace: 'if (current !== null) return',
  },
  {
    name: 'stale hub cuts off what its successor keeps',
    file: 'src/storage/file/journal/journal.ts',
    find: 'if (this.fd === null) return\n      epoch.check()',
    replace: 'if (this.fd === null) return',
  },
  {
    name: 'replaced daemon left running',
    file: 'src/modules/registry/registrations.ts',
    find: "leave(before, 'preempt', 'preempt')",
    replace: "leave(before, 'preempt', null)",
  },
  {
    name: 'one key, two signals',
    file: 'src/storage/file/signals/index/idempotency-index.ts',
    find: 'return head.idempotency_key === key && head.from === from',
    replace: 'return false',
  },
  {
    name: 'snapshot believed beyond its end',
    file: 'src/storage/file/signals/signal-store.ts',
    find: 'const end = replayJournal({ disk, directory, index, keys, syncedBytes, onCut }, segments, start)',
    replace:
      'const end = replayJournal({ disk, directory, index, keys, syncedBytes, onCut }, segments, snapshot === null ? start : { segment: start.segment + 1, bytes: 0 })',
  },
  {
    name: 'compaction drops what waits',
    file: 'src/storage/file/signals/compaction.ts',
    find: 'if (index.rows.status(row) === STATUS.forgotten) {',
    replace: 'if (index.rows.status(row) !== STATUS.acked) {',
    seed: 15,
  },
  {
    name: 'leased and still pending',
    file: 'src/storage/file/signals/index/signal-index.ts',
    find: '      this.setStatus(row, STATUS.acked)\n      this.leaveLease(row)\n      lease.rows.add(row)',
    replace: '      this.leaveLease(row)\n      lease.rows.add(row)',
  },
  {
    name: 'oldest last',
    file: 'src/storage/file/signals/index/pending-queue.ts',
    find: 'if (!visit(queue.at(index))) return',
    replace: 'if (!visit(queue.at(queue.size - 1 - index))) return',
  },
  {
    name: 'lost release',
    file: 'src/modules/signals/leases.ts',
    find: "await Promise.all(open.map((lease) => settlement.release(lease, 'session_lost')))",
    replace: 'for (const lease of open) sessions.discard(lease)',
    seed: 80,
  },
  {
    name: 'leases of a former run kept',
    file: 'src/modules/signals/leases.ts',
    find: 'const left = store.leases()',
    replace: 'const left = store.leases().slice(0, 0)',
  },
  {
    name: 'broken answer taken for a written one',
    file: 'src/modules/signals/leases.ts',
    find: "if (sessions.isOpen(lease) && !lease.seen) await settlement.release(lease, 'answer_broken')",
    replace: 'await settlement.answerWritten(lease)',
    seed: 14,
  },
  {
    name: 'drain confirmed by what was on its way before it',
    file: 'src/modules/signals/lease-state.ts',
    find: 'flushed: false,',
    replace: 'flushed: true,',
  },
  {
    name: 'drain confirmed by a shim that counts anew',
    file: 'src/modules/signals/lease-state.ts',
    find: 'return turn_seq === before || turn_seq === before + 1',
    replace: 'return turn_seq >= before',
  },
  {
    name: 'end of a turn confirms nothing',
    file: 'src/modules/signals/leases.ts',
    find: 'finished.push(lease)',
    replace: 'void lease',
  },
  {
    name: 'release nobody is told of',
    file: 'src/transports/ws/push.ts',
    find: '    released({ to, signal_ids, cause, pending_count: total }) {\n      returned(to, signal_ids)\n',
    replace: '    released({ to, signal_ids, cause, pending_count: total }) {',
    seed: 20,
  },
  {
    name: 'cache trusted after a reconnect',
    file: 'src/daemon/machine.ts',
    find: "LINK_UP: { target: 'RECONCILING' }",
    replace:
      "LINK_UP: { target: 'CONNECTED', actions: act((context) => ({ change: { history: { ...context.history, reconciled: true } } })) }",
  },
  {
    name: 'bell without a look',
    file: 'src/daemon/steps.ts',
    find: "  if (decision.kind !== 'ring' || entry === undefined) {",
    replace: '  if (entry === undefined) {',
  },
  {
    name: 'double ring',
    file: 'src/daemon/pacer.ts',
    find: 'if (bell === null) return null\n  if (bell.outcome',
    replace: 'if (bell !== undefined) return null\n  if (bell!.outcome',
  },
  {
    name: 'a lost bell never rung again',
    file: 'src/daemon/pacer.ts',
    find: '  return untilLost(history, bell, now)\n}',
    replace:
      "  return bell.outcome === 'open' ? { kind: 'wait', for: 'boundary' } : untilLost(history, bell, now)\n}",
    seed: 15,
  },
  {
    name: 'bell in the middle of a turn',
    file: 'src/daemon/pacer.ts',
    find: "if (take || (surface.turn === 'idle' && surface.delivery === 'push')) return null",
    replace: "if (take || surface.delivery === 'push') return null",
  },
  {
    name: 'what is over handed out',
    file: 'src/storage/file/signals/index/signal-index.ts',
    find: 'return this.forEachSignal(entry.signal_ids, (row) => this.setStatus(row, STATUS.expired))',
    replace: 'return',
  },
  {
    name: 'queue counted wrong',
    file: 'src/daemon/queue/pending-index.ts',
    find: '  return { entries: index.entries, total, settled: false }',
    replace: '  return { entries: index.entries, total: index.total, settled: index.settled }',
    seed: 20,
  },
  {
    name: 'depth of a queue forgotten in the metrics',
    file: 'src/daemon/metrics.ts',
    find: 'signal_queue_depth: reading.pending_count',
    replace: 'signal_queue_depth: 0',
  },
  {
    name: 'silent daemon shown as up',
    file: 'src/hub/observability/daemon-metrics.ts',
    find: 'up: last.present && now - last.heard_at <= LIMITS.registration_expire_ms',
    replace: 'up: true',
  },
  {
    name: 'a day that is a minute',
    file: 'src/modules/signals/send.ts',
    find: 'now + ttl_s * 1000',
    replace: 'now + Math.min(ttl_s, 60) * 1000',
  },
  {
    name: 'deliveries not counted',
    file: 'src/storage/file/signals/index/signal-index.ts',
    find: 'page.deliveries[slot] = Math.min((page.deliveries[slot] as number) + 1, 255)',
    replace: 'page.deliveries[slot] = 1',
    seed: 8,
  },
  {
    name: 'rung again once too often',
    file: 'src/daemon/pacer.ts',
    find: 'if (rerings >= rules.redoorbell_max) return',
    replace: 'if (rerings > rules.redoorbell_max) return',
    seed: 35,
  },
  {
    name: 'rung again without end',
    file: 'src/daemon/pacer.ts',
    find: 'if (rerings >= rules.redoorbell_max) return {',
    replace: 'if (rerings < 0) return {',
    seed: 35,
  },
  {
    name: 'what is quiet rings',
    file: 'src/daemon/queue/pending-index.ts',
    find: 'return entry.priority > 0',
    replace: 'return entry.priority >= 0',
  },
  {
    name: 'backlog rung at once',
    file: 'src/daemon/queue/queue-changes.ts',
    find: `const held = waits && rules.reconnect_ring === 'boundary' && !active`,
    replace: 'const held = false',
  },
  {
    name: 'oldest left behind',
    file: 'src/storage/file/signals/index/pending-queue.ts',
    find: 'for (let index = 0; index < queue.size; index += 1)',
    replace: 'for (let index = queue.size > 2 ? 1 : 0; index < queue.size; index += 1)',
  },
  {
    name: 'leases of live sessions taken back',
    file: 'src/modules/signals/leases.ts',
    find: 'const silent = session.seen_at <= silent_since',
    replace: 'const silent = session.leases.size > 0 || session.seen_at <= silent_since',
  },
  {
    name: 'total of what waits counted wrong',
    file: 'src/storage/file/signals/index/pending-queue.ts',
    find: 'this.total -= 1',
    replace: 'if (!addressed) this.total -= 1',
  },
  {
    name: 'refused and kept',
    file: 'src/modules/signals/send.ts',
    find: `    const route = first === null ? check(input.to, input) : routes.resolve(input.to)
    if (first === null) checkReplyTo(input.reply_to)
    const signal = compose(input.to, input, sender)
    const { seq, signal_id, repeated } = await store.append(signal)
`,
    replace: `    const signal = compose(input.to, input, sender)
    const { seq, signal_id, repeated } = await store.append(signal)
    const route = first === null ? check(input.to, input) : routes.resolve(input.to)
`,
  },
  {
    name: 'all said to be well',
    file: 'src/daemon/history.ts',
    find: "if (!surface.attached) return 'no_client'",
    replace: 'if (!surface.attached) return null',
  },
  {
    name: 'drain forgotten in the metrics',
    file: 'src/daemon/metrics.ts',
    find: 'drain_age_seconds: age(reading.last_drain_at),',
    replace: 'drain_age_seconds: age(null),',
  },
  {
    name: 'drain that does not grow older at the hub',
    file: 'src/hub/observability/daemon-metrics.ts',
    find: 'drained + (now - last.reported_at) / 1000',
    replace: 'drained',
  },
  {
    name: 'time of an error forgotten by the hub',
    file: 'src/hub/observability/metrics.ts',
    find: 'set?.last_error_timestamp_seconds ?? {}',
    replace: '{}',
  },
  {
    name: 'broadcast said again is another',
    file: 'src/modules/signals/broadcast.ts',
    find: '(earlier === null ? null : await broadcastIdOf(deps, earlier.signal_id)) ?? deps.ids.next()',
    replace: 'deps.ids.next()',
  },
  {
    name: 'broadcast said again is stored again',
    file: 'src/modules/signals/broadcast.ts',
    find: 'return key === undefined ? undefined : `${key}>${to}`',
    replace: 'return undefined',
  },
  {
    name: 'limit of a drain forgotten over a link',
    file: 'src/transports/ws/frame-handlers.ts',
    find: 'params: params ?? {},',
    replace: 'params: { ...params, limit: 50 },',
  },
  {
    name: 'what is dead waits again',
    file: 'src/storage/file/signals/index/signal-index.ts',
    find: 'this.release(row, STATUS.dead, entry.for_good)',
    replace: 'this.release(row, STATUS.pending, entry.for_good)',
    seed: 10,
  },
  {
    name: 'one priority for all',
    file: 'src/modules/signals/send.ts',
    find: 'const { intent, payload, priority } = draft',
    replace: `const { intent, payload } = draft
    const priority = 3`,
  },
  {
    name: 'what is for one session given to another',
    file: 'src/modules/signals/drain.ts',
    find: 'except_sessions: except,',
    replace: 'except_sessions: [],',
    seed: 10,
  },
  {
    name: 'over an hour late',
    file: 'src/modules/signals/expiry.ts',
    find: 'await store.expire(timestamp(clock), ',
    replace: 'await store.expire(timestamp({ now: () => clock.now() - 3_600_000 }), ',
    seed: 35,
  },
  {
    name: 'more than was asked for',
    file: 'src/modules/signals/drain.ts',
    find: `      limit: input.limit,
`,
    replace: `      limit: input.limit + 7,
`,
  },
  {
    name: 'what another signal says',
    file: 'src/modules/signals/drain.ts',
    find: `const signals = drained.map(toDrainedSignal)
`,
    replace: `const signals = drained.map(toDrainedSignal).map((one, at, all) => ({ ...one, payload: (all[0] as typeof one).payload }))
`,
  },
  {
    name: 'a bell that counts wrong',
    file: 'src/daemon/steps.ts',
    find: 'pending_count: pending.total,',
    replace: 'pending_count: 99,',
  },
  {
    name: 'lease without an end',
    file: 'src/modules/signals/leases.ts',
    find: 'if (silent) overdue.push(lease)',
    replace: 'if (silent) void lease',
    seed: 20,
  },
  {
    name: 'ack answered before its sync',
    file: 'src/storage/file/signals/signal-outcomes.ts',
    find: "        await context.change({\n          kind: 'complete',",
    replace: "        void context.change({\n          kind: 'complete',",
  },
  {
    name: 'confirmation told before its sync',
    file: 'src/storage/file/signals/signal-drains.ts',
    find: "await context.change({ kind: 'confirm'",
    replace: "void context.change({ kind: 'confirm'",
  },
  {
    name: 'ack of one that finishes the next as well',
    file: 'src/storage/file/signals/signal-outcomes.ts',
    find: 'if (completed.size === 0) await journal.committed()',
    replace:
      'for (const row of context.selectPending(identity, 1)) completed.add(rows.idText(row))\n      if (completed.size === 0) await journal.committed()',
  },
  {
    name: 'confirmations forgotten by a restart',
    file: 'src/storage/file/signals/index/signal-index.ts',
    find: 'return this.forEachSignal(entry.signal_ids, (row) => this.confirm(row, Date.parse(entry.at)))',
    replace:
      'return at.offset % 2 === 0 ? undefined : this.forEachSignal(entry.signal_ids, (row) => this.confirm(row, Date.parse(entry.at)))',
  },
  {
    name: 'a journal that breaks by itself',
    ends: true,
    file: 'src/storage/file/journal/journal.ts',
    find: '      if (batch.start > 0) this.checkIntact(batch.start)\n',
    replace: "      if (batch.start > 9_000) throw new TypeError('a bug')\n",
  },
  {
    name: 'written answers taken for broken ones',
    file: 'src/modules/signals/leases.ts',
    find: "(how === 'broken' ? releaseUnseen() : settlement.answerWritten(lease))",
    replace:
      "(how === 'broken' || lease.drain_id.charCodeAt(25) % 2 === 0 ? releaseUnseen() : settlement.answerWritten(lease))",
  },
  {
    name: 'finished signals forgotten too soon',
    file: 'src/storage/file/signals/signal-operations.ts',
    find: 'const finished_before = Date.parse(now) - retention.finished_retention_ms',
    replace: 'const finished_before = Date.parse(now) - 0.3 * retention.finished_retention_ms',
  },
  {
    name: 'refused bell rung again at once',
    file: 'src/daemon/pacer.ts',
    find: "if (bell.outcome === 'failed' && !take) return fresh || manual ? null : untilLost(history, bell, now)",
    replace: "if (bell.outcome === 'failed' && !take) return null",
  },
  {
    name: 'lost bells rung again as often as ever',
    file: 'src/daemon/pacer.ts',
    find: 'first * 2 ** lost_rings',
    replace: 'first',
  },
  {
    name: 'a bell that a person asked for is asked for again and again',
    file: 'src/daemon/pacer.ts',
    find: '    manual: false,\n    take: false,',
    replace: '    take: false,',
    seed: 14,
  },
  {
    name: 'a person is promised a bell for nothing',
    file: 'src/daemon/steps.ts',
    find: "if (pending.total === 0) return answerNotify(request, { accepted: false, reason: 'nothing_pending' })",
    replace: '',
  },
  {
    name: 'a wrapped persona takes signals',
    file: 'src/modules/signals/send.ts',
    find: "  if (persona.state !== 'active') {",
    replace: "  if (persona.state === 'removed') {",
  },
  {
    name: 'a wrapped persona is handed what waits',
    file: 'src/modules/lib/caller-guards.ts',
    find: "if (state !== 'active') throw",
    replace: "if (state === 'removed') throw",
    seed: 12,
  },
  {
    name: 'a broadcast reaches the wrapped as well',
    file: 'src/modules/signals/broadcast.ts',
    find: `recipients(deps, from, input))) {
      try {
        const route = sender.check(to, { require_live: false })`,
    replace: `deps.personas.list().map(({ identity }) => identity))) {
      try {
        const route = deps.routes.resolve(to)`,
  },
  {
    name: 'a replaced hub goes on changing records',
    file: 'src/storage/file/journal/journal.ts',
    find: 'if (cause === null) return\n',
    replace: 'if (cause !== undefined) return\n',
    seed: 35,
  },
  {
    name: 'a persona that came with its daemon is known to one hub alone',
    file: 'src/modules/registry/personas.ts',
    find: '    await uncertain.settle(identity,',
    replace: '    if (persona.created_at !== persona.updated_at) await uncertain.settle(identity,',
  },
  {
    name: 'a wrap that the next hub knows nothing of',
    file: 'src/modules/registry/personas.ts',
    find: '    await uncertain.settle(identity,',
    replace: "    if (persona.state === 'active') await uncertain.settle(identity,",
  },
  {
    name: 'who asks for a bell is told of a turn where there is none',
    file: 'src/daemon/steps.ts',
    find: "const result: NotifyResult = rings_now ? { accepted: true } : { accepted: true, reason: 'mid_turn' }",
    replace:
      "const result: NotifyResult = rings_now ? { accepted: true, reason: 'mid_turn' } : { accepted: true }",
  },
  {
    name: 'another bell is promised while one is leaving',
    file: 'src/daemon/pacer.ts',
    find: "if (bell.outcome === 'leaving') return true",
    replace: "if (bell.outcome === 'leaving') return false",
  },
  {
    name: 'a bell of an earlier turn counts as one that is out',
    file: 'src/daemon/steps.ts',
    find: 'if (isOutstanding(before, now)) return answerNotify',
    replace: 'if (isOutstanding(before, now) || before.bell !== null) return answerNotify',
  },
  {
    name: 'broadcast with a key stored one by one',
    file: 'src/modules/signals/broadcast.ts',
    find: 'await deps.store.appendAll(accepted.map(({ signal }) => signal))',
    replace:
      'accepted[0]?.signal.idempotency_key === undefined ? await deps.store.appendAll(accepted.map(({ signal }) => signal)) : await Promise.all(accepted.map(({ signal }) => deps.store.append(signal)))',
    seed: 35,
  },
  {
    name: 'new shim of a session taken for a new turn',
    file: 'src/daemon/surface-changes.ts',
    find: 'const counter_unchanged = !another && report.turn_seq === surface.turn_seq',
    replace: 'const counter_unchanged = !another && surface.known',
    seed: 21,
  },
  {
    name: 'first word of another shim taken for a passed turn',
    file: 'src/daemon/surface-changes.ts',
    find: 'before.attached && same_shim && ',
    replace: 'before.attached && ',
    seed: 26,
  },
  {
    name: 'confirm that confirms nothing',
    file: 'src/modules/signals/drain.ts',
    find: 'const confirming = () => leases.confirm(caller, confirm)',
    replace: 'const confirming = () => Promise.resolve()',
  },
  {
    name: 'nothing said to remain',
    file: 'src/modules/signals/drain.ts',
    find: 'const remaining = deps.store.pendingCount(identity, except)',
    replace: 'const remaining = 0',
  },
  {
    name: 'replay told before its sync',
    file: 'src/storage/file/signals/signal-outcomes.ts',
    find: `await context.change({ kind: 'replay', expires_at, signal_ids: [signal_id] })`,
    replace: `void context.change({ kind: 'replay', expires_at, signal_ids: [signal_id] }).catch(() => undefined)`,
  },
  {
    name: 'what came back too often waits again',
    file: 'src/storage/file/signals/signal-drains.ts',
    find: `status: deliveries > retention.deliveries_max ? 'dead' : 'pending',`,
    replace: `status: 'pending',`,
  },
  {
    name: 'drain that the daemon does not count from',
    file: 'src/daemon/steps.ts',
    find: 'change: { history: drain(context.history, signal_ids, total), last_drain_at: now }',
    replace: 'change: { history: drain(context.history, signal_ids, total) }',
  },
  {
    name: 'all said to be ill',
    file: 'src/daemon/history.ts',
    find: "return ignored ? 'not_drained' : null",
    replace: "return 'not_drained'",
  },
  {
    name: 'reminder at the end of the turn',
    file: 'src/daemon/pacer.ts',
    find: "return now < until ? { kind: 'wait', for: 'reminder', until } : null",
    replace: 'return null',
  },
  {
    name: 'reminders that always follow after the same time',
    file: 'src/daemon/pacer.ts',
    find: 'delays[Math.min(rerings, delays.length - 1)]',
    replace: 'delays[0]',
  },
  {
    name: 'bell lost by time alone',
    file: 'src/daemon/pacer.ts',
    find: 'const holds = surface.outstanding_doorbell_id !== null',
    replace: 'const holds = false',
  },
  {
    name: 'bell lost without asking the surface',
    file: 'src/daemon/pacer.ts',
    find: 'if (unseen === null || !rules.receipts',
    replace: 'if (unseen === null || rules.receipts',
  },
  {
    name: 'bell that no answer clears',
    file: 'src/daemon/surface-changes.ts',
    find: 'return holds === false ? { ...after, unseen: null',
    replace: 'return holds !== true ? { ...after, unseen: null',
  },
  {
    name: 'backlog rung within the grace',
    file: 'src/daemon/pacer.ts',
    find: 'Math.min(reconnect_grace_ms, reconnect_patience_ms)',
    replace: '1_000',
  },
  {
    name: 'bell that is forgotten with its drain while its prompt waits',
    file: 'src/daemon/history.ts',
    find: 'lost_rings: 0, bell: null, former: []',
    replace: 'unseen: null, lost_rings: 0, bell: null, former: []',
  },
  {
    name: 'bell that a restart of the daemon forgets',
    file: 'src/daemon/saved-state.ts',
    find: 'bell: bell && restoreBell(bell)',
    replace: 'bell: null, unseen: null',
    seed: 8,
  },
  {
    name: 'daemon that begins anew with each start',
    file: 'src/daemon/saved-state.ts',
    find: 'if (!parsed.success) return null',
    replace: 'if (parsed !== null) return null',
    seed: 8,
  },
  {
    name: 'lost link that nobody counts',
    file: 'src/daemon/steps.ts',
    find: `      { type: 'countError', params: error },
      ...answerEmpty(context.take),`,
    replace: '      ...answerEmpty(context.take),',
  },
  {
    name: 'push that waits as a backlog does',
    file: 'src/daemon/queue/queue-changes.ts',
    find: 'return { ...history, pending: index, fresh: true, hold: null, setbacks }',
    replace: 'return { ...history, pending: index, fresh: true, setbacks }',
  },
  {
    name: 'drain final by a confirm within its turn',
    file: 'src/modules/signals/leases.ts',
    find: 'else await settlement.answerSeen(owner.lease)',
    replace: 'else await settlement.turnEnded(owner.lease)',
  },
  {
    name: 'drain final by the next drain within its turn',
    file: 'src/modules/signals/lease-settlement.ts',
    find: 'if (lease.received && lease.drained_again && isOpen(lease)) await answerSeen(lease)',
    replace: 'if (lease.received && lease.drained_again && isOpen(lease)) await confirmLease(lease)',
  },
  {
    name: 'next drain counted though its caller was not heard from',
    file: 'src/modules/signals/lease-settlement.ts',
    find: 'if (lease.received && lease.drained_again && isOpen(lease)) await answerSeen(lease)',
    replace: 'if (lease.drained_again && isOpen(lease)) await answerSeen(lease)',
    test: 'test/unit/modules/signals/leases.test.ts',
  },
  {
    name: 'a shim that is the surface again believed without being asked',
    file: 'src/daemon/surface-socket.ts',
    find: "{ ...next.status, turn: 'unknown' }",
    replace: 'next.status',
    test: 'test/unit/daemon/surface-socket.test.ts',
  },
  {
    name: 'end of a turn heard before the end of a connection that came with it',
    file: 'src/modules/signals/lease-settlement.ts',
    find: `      await new Promise<void>((resolve) => afterTicks(clock, 2, resolve))
`,
    replace: '',
    test: 'test/unit/modules/signals/leases.test.ts',
  },
  {
    name: 'answer written to a connection that had ended in a stall',
    file: 'src/transports/http/answered.ts',
    find: '(error) => (error ? reset() : heard())',
    replace: 'heard',
    test: 'test/integration/wire/given-up.test.ts',
  },
  {
    name: 'answer written before the client is heard giving it up',
    file: 'src/bridge/stdio/line-framing.ts',
    find: 'else afterATick(() => onWritten',
    replace: 'else queueMicrotask(() => onWritten',
    test: 'test/unit/bridge/given-up.test.ts',
  },
  {
    name: 'unread answer taken for a received one',
    file: 'src/modules/signals/leases.ts',
    find: "(how === 'broken' ? releaseUnseen() : settlement.noteProgress(lease, 'received'))",
    replace: "settlement.noteProgress(lease, 'received')",
    test: 'test/unit/modules/signals/leases.test.ts',
  },
  {
    name: 'drain final by a confirm where nobody has heard that its turn goes on',
    file: 'src/modules/signals/lease-settlement.ts',
    find: 'if (session.turn !== null && isPast(lease, session.turn)) await confirmLease(lease)',
    replace: 'if (session.turn !== null) await confirmLease(lease)',
  },
  {
    name: 'a drain counted twice',
    file: 'src/storage/file/signals/index/signal-index.ts',
    find: 'page.deliveries[slot] = Math.min((page.deliveries[slot] as number) + 1, 255)',
    replace: 'page.deliveries[slot] = Math.min((page.deliveries[slot] as number) + 2, 255)',
  },
  {
    name: 'a release that takes its drain back from the count',
    file: 'src/storage/file/signals/index/signal-index.ts',
    find: '    else this.rows.flag(row, FLAG.held, false)\n',
    replace:
      '    else this.rows.flag(row, FLAG.held, false)\n    const counted = this.rows.page(row).deliveries\n    if (row % 2 === 0) counted[this.rows.slot(row)] = (counted[this.rows.slot(row)] as number) - 1\n',
  },
  {
    name: 'expiry that nobody is told of',
    file: 'src/modules/signals/expiry.ts',
    find: 'if (!isAddressee(deps, to) || per_notice.length > room) return []',
    replace: 'if (per_notice.length >= 0) return []',
  },
  {
    name: 'cancel of what was drained',
    file: 'src/storage/file/signals/signal-outcomes.ts',
    find: "if (before === 'pending') await context.change({ kind: 'cancel'",
    replace: "if (before !== null) await context.change({ kind: 'cancel'",
  },
  {
    name: 'cancelled signal that waits on',
    file: 'src/storage/file/signals/index/signal-index.ts',
    find: 'this.setStatus(row, STATUS.cancelled)\n',
    replace: '',
  },
  {
    name: 'a door that checks Host and not Origin',
    file: 'src/transports/http/guard.ts',
    find: 'if (origin === undefined) return\n',
    replace: 'if (origin === undefined || host !== undefined) return\n',
    test: 'test/integration/wire/http-doors.test.ts',
  },
  {
    name: 'a door that compares the beginning of Host',
    file: 'src/transports/http/guard.ts',
    find: 'host === own ||',
    replace: 'host.startsWith(own) ||',
    test: 'test/integration/wire/http-doors.test.ts',
  },
  {
    name: 'a journal without its end taken for whole',
    file: 'src/storage/file/journal/completeness.ts',
    find: 'if (missing !== null) throw incompleteError(',
    replace: 'if (missing === undefined) throw incompleteError(',
    test: 'test/unit/storage/journal/completeness.test.ts',
  },
  {
    name: 'receipts for a segment that was removed',
    file: 'src/storage/file/journal/journal.ts',
    find: 'if (this.dead === null) this.checkIntact(this.expectedBytes())',
    replace: 'if (this.dead !== null) this.checkIntact(this.expectedBytes())',
    test: 'test/unit/storage/journal/completeness.test.ts',
  },
  {
    name: 'numbers used again after a repair',
    file: 'src/storage/file/signals/give-up.ts',
    find: 'last_seq: goes_on_after,',
    replace: 'last_seq: losses.last_seq,',
    test: 'test/unit/storage/journal/completeness.test.ts',
  },
  {
    name: 'a missing epoch begins at one',
    file: 'src/storage/file/journal/fencing-epoch.ts',
    find: 'Math.max(readEpoch(disk, journal) ?? 0, at_least)',
    replace: '(readEpoch(disk, journal) ?? 0)',
    test: 'test/unit/storage/journal/completeness.test.ts',
  },
  {
    name: 'an ack that stores its reply after the completion',
    file: 'src/modules/signals/ack.ts',
    find: `    const sent = await sendReplies(deps, sender, caller, drafts, input.result)

    const outcome: AckOutcome = {
      completed: [],
      already: [],
      unknown,
      replied: [...checked.replied, ...sent],
      not_replied: checked.not_replied,
    }
    for (const [to, signals] of groupBy(known, (signal) => signal.to)) {
      const ids = signals.map((signal) => signal.signal_id)
      const done = await deps.store.complete(to, ids, input.result, timestamp(deps.clock))
`,
    replace: `    const outcome: AckOutcome = { completed: [], already: [], unknown, ...checked }
    for (const [to, signals] of groupBy(known, (signal) => signal.to)) {
      const ids = signals.map((signal) => signal.signal_id)
      const done = await deps.store.complete(to, ids, input.result, timestamp(deps.clock))
      const due = drafts.filter(({ signal }) => signal.to === to)
      outcome.replied.push(...(await sendReplies(deps, sender, caller, due, input.result)))
`,
    seed: 62,
  },
  {
    name: 'a refused ack that completes its signals',
    file: 'src/modules/signals/ack.ts',
    find: `    if (input.result !== undefined) checkPayload(input.result)

    const { known, unknown } = await ownSignals(deps, caller, input.signal_ids)
`,
    replace: `    const { known, unknown } = await ownSignals(deps, caller, input.signal_ids)
    for (const { to, signal_id } of known) await deps.store.complete(to, [signal_id], undefined, timestamp(deps.clock))
    if (input.result !== undefined) checkPayload(input.result)
`,
    seed: 12,
  },
  {
    name: 'reminders that a restart begins anew',
    file: 'src/daemon/saved-state.ts',
    find: '    surface: { ...fresh.surface, ...surface },\n  }',
    replace: '    surface: { ...fresh.surface, ...surface },\n    rerings: 0,\n  }',
    seed: 81,
  },
  {
    name: 'expiry that reply_to is not told of',
    file: 'src/modules/signals/expiry.ts',
    find: 'const identities = new Set([from, reply_to])',
    replace: 'const identities = new Set([from, reply_to].slice(0, 1))',
    seed: 26,
  },
  {
    name: 'drains of a person that confirm each other',
    file: 'src/modules/signals/drain.ts',
    find: "caller.kind === 'operator' ? `${caller.identity}:${drain_id}` : sessionOf(caller)",
    replace: 'sessionOf(caller)',
    test: 'test/unit/modules/signals/person.test.ts',
  },
  {
    name: 'cancel by the recipient',
    file: 'src/modules/signals/cancel.ts',
    find: 'if (!by_operator && view.from !== caller.identity) {',
    replace: 'if (!by_operator && view.from !== caller.identity && view.to !== caller.identity) {',
    test: 'test/unit/modules/signals/person.test.ts',
  },
  {
    name: 'late confirm that is final within its turn',
    file: 'src/modules/signals/lease-settlement.ts',
    find: "if (!session?.reports_turns || session.turn?.turn !== 'busy') return",
    replace: 'if (session !== null) return',
    test: 'test/unit/modules/signals/leases.test.ts',
  },
]
