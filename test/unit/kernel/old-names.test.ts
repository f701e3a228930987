/** Tests old names, which remain valid, and the actions that they resolve to. */
import { expect, test } from 'vitest'
import { FACADES } from '../../../src/facades/all.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'

const OLD_NAMES: Record<string, string> = {
  prism_signal: 'signals.send',
  prism_signals_pending: 'signals.pending',
  prism_wrap: 'personas.wrap',
  coord_send: 'signals.send',
  coord_inbox: 'signals.inbox',
  coord_ack: 'signals.ack',
  coord_register: 'coordinator.register',
  coord_heartbeat: 'coordinator.heartbeat',
  coord_status: 'coordinator.status',
  coord_lock: 'coordinator.lock',
  coord_unlock: 'coordinator.unlock',
  coord_log: 'coordinator.log',
  sentinel_createIssue: 'sentinel.create_issue',
  sentinel_create_issue: 'sentinel.create_issue',
  sentinel_listIssues: 'sentinel.list_issues',
  sentinel_list_repo_issues: 'sentinel.list_issues',
  sentinel_scan: 'sentinel.scan',
  sentinel_scanData: 'sentinel.scan',
  sentinel_scan_codebase: 'sentinel.scan',
  architect_record_arch_decision: 'architect.create_adr',
  architect_createAdr: 'architect.create_adr',
  twining_post: 'blackboard.post',
  twining_read: 'blackboard.read',
  twining_query: 'blackboard.query',
  twining_recent: 'blackboard.recent',
  twining_archive: 'blackboard.archive',
  twining_status: 'blackboard.status',
  twining_export: 'blackboard.export',
  twining_decide: 'decisions.decide',
  twining_why: 'decisions.why',
  twining_trace: 'decisions.trace',
  twining_reconsider: 'decisions.reconsider',
  twining_override: 'decisions.override',
  twining_search_decisions: 'decisions.search',
  twining_link_commit: 'decisions.link_commit',
  twining_commits: 'decisions.list',
  twining_assemble: 'context.assemble',
  twining_summarize: 'context.summarize',
  twining_what_changed: 'context.what_changed',
  twining_add_entity: 'graph.add_entity',
  twining_add_relation: 'graph.add_relation',
  twining_neighbors: 'graph.neighbors',
  twining_graph_query: 'graph.query',
}

const registry = createRegistry(FACADES)

test.each(Object.entries(OLD_NAMES))('%s resolves to %s', (name, today) => {
  const found = registry.resolve(name)
  expect(`${found.facade.name}.${found.name}`).toBe(today)
})

test('every old name of a declaration is in this table', () => {
  const declared = registry.actions.flatMap(({ action }) =>
    (action.aliases ?? []).map((alias) => (typeof alias === 'string' ? alias : alias.name)),
  )
  const families = declared.filter((name) => /^(prism|twining|coord|sentinel|architect)_/.test(name))
  expect(families.filter((name) => !(name in OLD_NAMES))).toEqual([])
})
