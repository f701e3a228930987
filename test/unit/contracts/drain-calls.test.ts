/** Calls that drain signals are detected under every name that the kernel accepts. */
import { describe, expect, test } from 'vitest'
import {
  resolveCall,
  isQueueCall,
  DRAIN_OLD_NAMES,
  DRAIN_TOOL,
  isDrain,
} from '../../../src/contracts/drain-calls.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { signals } from '../../../src/facades/signals.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { spokenCall } from '../../../src/kernel/normalize-call.ts'
import { routineKernel } from '../../support/worlds/routine-kernel.ts'

const registry = createRegistry(FACADES)
const DRAINS: [string, unknown][] = [
  [DRAIN_TOOL, {}],
  [DRAIN_TOOL, undefined],
  ['signalsPending', { limit: 3 }],
  ['signals.pending', { peek: false }],
  ['signals-pending', { peek: 'false' }],
  ['signals', { action: 'pending' }],
  ['Signals', { action: 'Pending', params: {} }],
  ['signals', { action: 'pending', params: '{"limit":1}' }],
  ['signals', { action: 'pending', params: {}, peek: true }],
  ['signals', { action: 'pending', params: 'null' }],
  ...DRAIN_OLD_NAMES.map((name): [string, unknown] => [name, {}]),
]

test.each(DRAINS)('%s %j is a drain, also for the kernel', (name, args) => {
  expect(isDrain(name, args)).toBe(true)
  const { facade, action } = spokenCall(registry, name, args)
  expect(registry.resolve(facade, action).action).toBe(signals.actions.pending)
})

test('every former name of the drain is detected', () => {
  expect(signals.actions.pending?.aliases).toEqual(DRAIN_OLD_NAMES)
})

test('no action but the drain delivers signals', () => {
  const delivering = registry.actions.filter(({ action }) => action.hands_over === true)
  expect(delivering.map(({ facade, name }) => `${facade.name}_${name}`)).toEqual([DRAIN_TOOL])
})

describe('no action that calls others delivers signals', () => {
  const around = registry.actions.filter(({ action }) => action.delegates === true)
  const within: Record<string, unknown> = {
    tool_invoke: { name: DRAIN_TOOL },
    workflow_batch: { calls: [{ facade: 'signals', action: 'pending' }] },
    routine_eval: { steps: [{ step: 'call', with: { facade: 'signals', action: 'pending' } }] },
  }

  test('every action that forwards a call is tested here', () => {
    const names = around.map(({ facade, name }) => `${facade.name}_${name}`)
    expect(names.sort()).toEqual(['tool_invoke', 'workflow_batch'])
  })

  test.each(Object.entries(within))('%s is known as a drain, or takes nothing', async (name, args) => {
    const { facade, name: action } = registry.resolve(name)
    const outcome = await routineKernel({ facades: [signals] }).kernel.call(facade.name, action, args)
    const refused = JSON.stringify(outcome).includes('handover_forbidden')
    expect(isDrain(name, args)).toBe(!refused)
  })
})

describe('a drain inside another call is detected', () => {
  test.each(DRAINS)('is as much a drain: %s %j', (name, args) => {
    expect(isDrain('tool_invoke', { name, args })).toBe(true)
    expect(isDrain('tool', { action: 'invoke', params: { name, args } })).toBe(true)
    expect(isDrain('tool_invoke', { name: 'tool.invoke', args: JSON.stringify({ name, args }) })).toBe(true)
  })
})

test.each<[string, unknown]>([
  ['signals_pending', { peek: true }],
  ['signals_pending', { peek: 'true' }],
  ['signals', { action: 'pending', params: { peek: true } }],
  ['signals', { action: 'pending', peek: true }],
  ['tool_invoke', { name: 'signals_pending', args: { peek: true } }],
  ['tool_invoke', { name: 'prism_signals_pending', args: '{"peek":true}' }],
])('%s %j accesses the queue and is not a drain', (name, args) => {
  expect([isQueueCall(name, args), isDrain(name, args)]).toEqual([true, false])
})

test.each<[string, unknown]>([
  ['signals', {}],
  ['signals', { action: 7 }],
  ['signals', { action: 'send', params: { to: 'ada', intent: 'pending' } }],
  ['signals', 'pending'],
  ['signals', ['pending']],
  ['git', { action: 'pending' }],
  ['pending', {}],
  ['tool_invoke', {}],
  ['tool_invoke', { name: 7 }],
  ['tool_invoke', { name: 'signals' }],
  ['tool_describe', { name: 'signals_pending' }],
  ['', null],
])('%s %j does not access the queue', (name, args) => {
  expect([isQueueCall(name, args), isDrain(name, args)]).toEqual([false, false])
})

test('a call is resolved with its parameters', () => {
  const call = { name: 'signals', args: { action: 'ack', signal_ids: ['x'] } }
  expect(resolveCall('tool_invoke', call)).toEqual({ name: 'signals_ack', params: { signal_ids: ['x'] } })
})
