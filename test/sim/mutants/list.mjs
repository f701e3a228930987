/**
 * Bugs to plant, one at a time: each breaks a promise, and the simulation has to notice. `find` stands exactly once in
 * the file; it is replaced before the file is bundled.
 */
export const MUTANTS = [
  {
    name: 'receipt before sync',
    file: 'src/storage/file/journal.ts',
    find: 'return last === null ? NOTHING_TO_WAIT_FOR : last.done',
    replace: 'return NOTHING_TO_WAIT_FOR',
  },
  {
    name: 'failed sync taken for a good one',
    file: 'src/storage/file/journal.ts',
    find: 'const failure = error ?? this.takenMeanwhile()',
    replace: 'const failure = this.takenMeanwhile()',
  },
  {
    name: 'recovered lines never synced',
    file: 'src/storage/file/recovery.ts',
    find: '    keep(disk, segment, this.proved, bytes)\n',
    replace: '',
  },
  {
    name: 'what a failed sync lost is only synced again',
    file: 'src/storage/file/recovery.ts',
    find: 'writeFully(disk, fd, bytes.subarray(0, disk.read(fd, bytes, from)), from)',
    replace: '',
  },
  {
    name: 'a new segment whose name a power cut takes',
    file: 'src/storage/file/journal.ts',
    find: 'this.fd_segment = segment\n    disk.syncDirectory(directory)',
    replace: 'this.fd_segment = segment',
  },
  {
    name: 'torn end believed',
    file: 'src/storage/file/recovery.ts',
    find: 'if (torn !== null) cut(this.recovery, segment, torn.offset, torn.reason)',
    replace: 'torn = null',
  },
  {
    name: 'half a broadcast kept',
    file: 'src/storage/file/recovery.ts',
    find: 'if (head.left === 0 && this.group.length === 0) {',
    replace: 'if (head.left >= 0) {',
  },
  {
    name: 'stale hub goes on writing',
    file: 'src/storage/file/epoch.ts',
    find: 'if (found === number) return',
    replace: 'if (found !== null) return',
  },
  {
    name: 'stale hub cuts off what its successor keeps',
    file: 'src/storage/file/journal.ts',
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
    file: 'src/storage/file/key-book.ts',
    find: 'return head.idempotency_key === key && head.from === from',
    replace: 'return false',
  },
  {
    name: 'snapshot believed beyond its end',
    file: 'src/storage/file/signal-store.ts',
    find: 'const end = replayJournal({ disk, directory, index, keys, onCut }, segments, start)',
    replace:
      'const end = replayJournal({ disk, directory, index, keys, onCut }, segments, snapshot === null ? start : { segment: start.segment + 1, bytes: 0 })',
  },
  {
    name: 'compaction drops what waits',
    file: 'src/storage/file/compaction.ts',
    find: 'if (index.rows.status(row) === STATUS.forgotten) {',
    replace: 'if (index.rows.status(row) !== STATUS.acked) {',
  },
  {
    name: 'leased and still pending',
    file: 'src/storage/file/signal-index.ts',
    find: '      this.change(row, STATUS.acked)\n      this.leaveLease(row)\n      lease.rows.add(row)',
    replace: '      this.leaveLease(row)\n      lease.rows.add(row)',
  },
  {
    name: 'oldest last',
    file: 'src/storage/file/pending-order.ts',
    find: 'if (!visit(queue.at(index))) return',
    replace: 'if (!visit(queue.at(queue.size - 1 - index))) return',
  },
  {
    name: 'lost release',
    file: 'src/modules/signals/leases.ts',
    find: "await Promise.all(leases.map((lease) => releaseLease(lease, 'session_lost')))",
    replace: 'for (const lease of leases) forget(lease)',
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
    find: "if (how === 'written') {",
    replace: "if (how === 'written' || how === 'broken') {",
  },
  {
    name: 'drain confirmed by what was on its way before it',
    file: 'src/modules/signals/leases.ts',
    find: 'caught_up: false,',
    replace: 'caught_up: true,',
  },
  {
    name: 'drain confirmed by a shim that counts anew',
    file: 'src/modules/signals/leases.ts',
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
    file: 'src/hub/push.ts',
    find: "    released({ to, signal_ids, cause, pending_count: total }) {\n      toPersona(to, (pending_count) => ({ type: 'signal.released', signal_ids, pending_count }))",
    replace: '    released({ to, signal_ids, cause, pending_count: total }) {',
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
  },
  {
    name: 'bell in the middle of a turn',
    file: 'src/daemon/pacer.ts',
    find: "const reachable = take || (surface.turn === 'idle' && surface.delivery === 'push')",
    replace: "const reachable = take || surface.delivery === 'push'",
  },
  {
    name: 'what is over handed out',
    file: 'src/storage/file/signal-index.ts',
    find: 'return this.each(entry.signal_ids, (row) => this.change(row, STATUS.expired))',
    replace: 'return',
  },
  {
    name: 'queue counted wrong',
    file: 'src/daemon/pending-index.ts',
    find: '  return { entries: index.entries, total, settled: false }',
    replace: '  return { entries: index.entries, total: index.total, settled: index.settled }',
  },
  {
    name: 'depth of a queue forgotten in the metrics',
    file: 'src/daemon/metrics.ts',
    find: 'signal_queue_depth: reading.pending_count',
    replace: 'signal_queue_depth: 0',
  },
  {
    name: 'silent daemon shown as up',
    file: 'src/hub/daemon-reports.ts',
    find: 'up: last.present && now - last.heard_at <= LIMITS.registration_expire_ms',
    replace: 'up: true',
  },
  {
    name: 'a day that is a minute',
    file: 'src/modules/signals/send.ts',
    find: 'now + draft.ttl_s * 1000',
    replace: 'now + Math.min(draft.ttl_s, 60) * 1000',
  },
  {
    name: 'deliveries not counted',
    file: 'src/storage/file/signal-index.ts',
    find: 'page.deliveries[slot] = Math.min((page.deliveries[slot] as number) + 1, 255)',
    replace: 'page.deliveries[slot] = 1',
  },
  {
    name: 'rung again without end',
    file: 'src/daemon/pacer.ts',
    find: 'const spent = repeats(history, bell) && rerings >= rules.redoorbell_max',
    replace: 'const spent = false',
  },
  {
    name: 'what is quiet rings',
    file: 'src/daemon/pending-index.ts',
    find: 'return entry.priority > 0',
    replace: 'return entry.priority >= 0',
  },
  {
    name: 'backlog rung at once',
    file: 'src/daemon/queue-changes.ts',
    find: `const held = waits && rules.reconnect_ring === 'boundary' && !active`,
    replace: 'const held = false',
  },
  {
    name: 'oldest left behind',
    file: 'src/storage/file/pending-order.ts',
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
    file: 'src/storage/file/pending-order.ts',
    find: 'this.total -= 1',
    replace: 'if (!addressed) this.total -= 1',
  },
  {
    name: 'refused and kept',
    file: 'src/modules/signals/send.ts',
    find: `    const route = first === null ? check(input.to, input) : routes.resolve(input.to)
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
    find: `return !attached || unheard || unread ? 'degraded' : 'ok'`,
    replace: `return 'ok'`,
  },
  {
    name: 'drain forgotten in the metrics',
    file: 'src/daemon/metrics.ts',
    find: 'drain_age_seconds: age(reading.last_drain_at),',
    replace: 'drain_age_seconds: age(null),',
  },
  {
    name: 'drain that does not grow older at the hub',
    file: 'src/hub/daemon-reports.ts',
    find: 'drained + (now - last.reported_at) / 1000',
    replace: 'drained',
  },
  {
    name: 'time of an error forgotten by the hub',
    file: 'src/hub/metrics.ts',
    find: 'set?.last_error_timestamp_seconds ?? {}',
    replace: '{}',
  },
  {
    name: 'broadcast said again is another',
    file: 'src/modules/signals/broadcast.ts',
    find: '(before === null ? null : await broadcastOf(needs, before)) ?? needs.ids.next()',
    replace: 'needs.ids.next()',
  },
  {
    name: 'broadcast said again is stored again',
    file: 'src/modules/signals/broadcast.ts',
    find: 'return key === undefined ? undefined : `${key}>${to}`',
    replace: 'return undefined',
  },
  {
    name: 'limit of a drain forgotten over a link',
    file: 'src/hub/frame-handlers.ts',
    find: 'params: params ?? {},',
    replace: 'params: { ...params, limit: 50 },',
  },
  {
    name: 'what is dead waits again',
    file: 'src/storage/file/signal-index.ts',
    find: 'this.release(row, STATUS.dead, entry.for_good)',
    replace: 'this.release(row, STATUS.pending, entry.for_good)',
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
  },
  {
    name: 'over an hour late',
    file: 'src/modules/signals/sweep.ts',
    find: 'const expired = await store.expire(timestamp(clock))',
    replace: 'const expired = await store.expire(timestamp({ now: () => clock.now() - 3_600_000 }))',
  },
  {
    name: 'more than was asked for',
    file: 'src/modules/signals/drain.ts',
    find: `      limit,
`,
    replace: `      limit: limit + 7,
`,
  },
  {
    name: 'what another signal says',
    file: 'src/modules/signals/drain.ts',
    find: 'return { signals: drained.map(present), remaining, drain_id }',
    replace:
      'return { signals: drained.map(present).map((one, at, all) => ({ ...one, payload: (all[0] as typeof one).payload })), remaining, drain_id }',
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
  },
  {
    name: 'ack answered before its sync',
    file: 'src/storage/file/signal-calls.ts',
    find: "        await change({\n          kind: 'complete',",
    replace: "        void change({\n          kind: 'complete',",
  },
  {
    name: 'confirmation told before its sync',
    file: 'src/storage/file/signal-calls.ts',
    find: "await change({ kind: 'confirm'",
    replace: "void change({ kind: 'confirm'",
  },
  {
    name: 'ack of one that finishes the next as well',
    file: 'src/storage/file/signal-calls.ts',
    find: 'if (completed.size === 0) await journal.committed()',
    replace:
      'for (const row of choose(identity, 1)) completed.add(rows.idText(row))\n      if (completed.size === 0) await journal.committed()',
  },
  {
    name: 'confirmations forgotten by a restart',
    file: 'src/storage/file/signal-index.ts',
    find: 'return this.each(entry.signal_ids, (row) => this.confirm(row, Date.parse(entry.at)))',
    replace:
      'return at.offset % 2 === 0 ? undefined : this.each(entry.signal_ids, (row) => this.confirm(row, Date.parse(entry.at)))',
  },
  {
    name: 'a journal that breaks by itself',
    file: 'src/storage/file/journal.ts',
    find: '      epoch.check()\n      const fd',
    replace:
      "      epoch.check()\n      if (batch.start > 9_000) throw new TypeError('a bug')\n      const fd",
  },
  {
    name: 'written answers taken for broken ones',
    file: 'src/modules/signals/leases.ts',
    find: "if (how === 'written') {",
    replace: "if (how === 'written' && lease.drain_id.charCodeAt(25) % 2 === 0) {",
  },
  {
    name: 'finished signals forgotten too soon',
    file: 'src/storage/file/signal-calls.ts',
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
    find: "    if (persona.state !== 'active') {",
    replace: "    if (persona.state === 'removed') {",
  },
  {
    name: 'a wrapped persona is handed what waits',
    file: 'src/modules/signals/callers.ts',
    find: "if (state !== 'active') throw",
    replace: "if (state === 'removed') throw",
  },
  {
    name: 'a broadcast reaches the wrapped as well',
    file: 'src/modules/signals/broadcast.ts',
    find: 'audience(needs, from.from, input.topic))) {\n    try {\n      const route = sender.check(to, { require_live: false })',
    replace:
      'needs.personas.list().map(({ identity }) => identity))) {\n    try {\n      const route = needs.routes.resolve(to)',
  },
  {
    name: 'a replaced hub goes on changing records',
    file: 'src/storage/file/journal.ts',
    find: 'if (taken === null) return\n',
    replace: 'if (taken !== undefined) return\n',
  },
  {
    name: 'a persona that came with its daemon is known to one hub alone',
    file: 'src/modules/registry/personas.ts',
    find: '    await unsure.settle(identity,',
    replace: '    if (persona.created_at !== persona.updated_at) await unsure.settle(identity,',
  },
  {
    name: 'a wrap that the next hub knows nothing of',
    file: 'src/modules/registry/personas.ts',
    find: '    await unsure.settle(identity,',
    replace: "    if (persona.state === 'active') await unsure.settle(identity,",
  },
  {
    name: 'who asks for a bell is told of a turn where there is none',
    file: 'src/daemon/steps.ts',
    find: "const result: NotifyResult = atHand ? { accepted: true } : { accepted: true, reason: 'mid_turn' }",
    replace:
      "const result: NotifyResult = atHand ? { accepted: true, reason: 'mid_turn' } : { accepted: true }",
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
    find: 'await needs.store.appendAll(accepted.map(({ signal }) => signal))',
    replace:
      'accepted[0]?.signal.idempotency_key === undefined ? await needs.store.appendAll(accepted.map(({ signal }) => signal)) : await Promise.all(accepted.map(({ signal }) => needs.store.append(signal)))',
  },
  {
    name: 'new shim of a session taken for a new turn',
    file: 'src/daemon/surface-changes.ts',
    find: 'const stands_where_it_stood = !another && report.turn_seq === surface.turn_seq',
    replace: 'const stands_where_it_stood = !another && surface.known',
  },
  {
    name: 'first word of another shim taken for a passed turn',
    file: 'src/daemon/surface-changes.ts',
    find: 'before.attached && same_shim && ',
    replace: 'before.attached && ',
  },
]
