import { expect, test } from 'vitest'
import type { DrainedSignal, SignalView } from '../../../src/contracts/signal.ts'
import { Ledger } from '../../soak/ledger.ts'

const SIGNAL = '01M8CM5M97A0Z61RATX3QTSCAA'
const NOTICE = '01M8CM5M97A0Z61RATX3QTSCBB'
const DRAIN = '01M8CM5WGSB20N543MQW53PSCX'

/** A signal that an agent of bob has drained; `happens` takes events in the format of the event stream. */
function aSignal() {
  const broken: string[] = []
  const alive = new Set(['run-1'])
  const ledger = new Ledger({
    lives: (_, session_id) => alive.has(session_id),
    knows: () => true,
    latest: () => Date.now(),
    onBroken: ({ message }) => broken.push(message),
  })
  const happens = (type: string, data: object) =>
    ledger.event({ type, agent_id: 'bob', data, seq: 0, timestamp: '' } as Parameters<Ledger['event']>[0])
  const wish = ledger.wish('bob', true)
  happens('signal.pushed', { signal_id: SIGNAL, seq: 1 })
  ledger.receipt(wish, { signal_id: SIGNAL, seq: 1, durable: true } as Parameters<Ledger['receipt']>[1])
  const drains = (session_id: string) => {
    happens('signal.drained', { signal_ids: [SIGNAL], session_id })
    const signal = { signal_id: SIGNAL, deliveries: 1, payload: { n: wish.n }, to: 'bob' }
    ledger.received(DRAIN, [signal as unknown as DrainedSignal])
  }
  const shown = { signal_id: SIGNAL, seq: 1, to: 'bob', status: 'acked', payload: { n: wish.n } }
  const audit = (view: Partial<SignalView>) =>
    ledger.audit(new Map([[SIGNAL, { ...shown, ...view } as unknown as SignalView]]))
  const row = { kind: 'agent', surface: 'mcp' }
  const joins = (session_id: string) => happens('peer.joined', { ...row, session_id })
  const leaves = (session_id: string) => happens('peer.left', { ...row, session_id })
  /** The sender drains the notice that it expired. */
  const isToldOfExpiry = () => {
    const notice = { signal_id: NOTICE, deliveries: 1, payload: { signals: [{ signal_id: SIGNAL }] } }
    ledger.received(DRAIN, [{ ...notice, to: 'ada', origin: 'system' } as unknown as DrainedSignal])
  }
  return { ledger, broken, alive, happens, joins, leaves, drains, isToldOfExpiry, audit }
}

test('a session that drained unregistered and died may hold its drain', () => {
  const { ledger, broken, alive, joins, leaves, drains, audit } = aSignal()
  joins('run-1')
  leaves('run-1')
  drains('run-1')
  expect(ledger.open()).toBe(1)
  alive.delete('run-1')
  joins('run-2')
  expect(ledger.open()).toBe(0)
  expect(audit({ leased_to: 'run-1' })).toEqual({ delivered: 1, explained: 0, held: 1, lost: 0 })
  expect(broken).toEqual([])
})

test.each([
  ['before it drained', ['joins', 'drains', 'leaves']],
  ['after it had drained', ['drains', 'joins', 'leaves']],
] as const)('the lease of a session that was registered %s ends with the registration', (_, steps) => {
  const { broken, alive, audit, ledger, ...moves } = aSignal()
  for (const step of steps) moves[step]('run-1')
  alive.delete('run-1')
  expect(ledger.open()).toBe(1)
  audit({ leased_to: 'run-1' })
  expect(broken).toEqual([expect.stringContaining('a lease comes to an end')])
})

test('a session that lost one of its registrations still has the other', () => {
  const { broken, alive, audit, happens, joins, leaves, drains } = aSignal()
  joins('run-1')
  happens('peer.joined', { kind: 'agent', surface: 'tmux', session_id: 'run-1' })
  leaves('run-1')
  drains('run-1')
  alive.delete('run-1')
  audit({ leased_to: 'run-1' })
  expect(broken).toEqual([expect.stringContaining('a lease comes to an end')])
})

test('a notice of expiry may be overtaken by the confirmation of a released lease', () => {
  const { broken, happens, drains, isToldOfExpiry, audit } = aSignal()
  drains('run-1')
  happens('signal.released', { signal_ids: [SIGNAL] })
  happens('signal.expired', { signal_ids: [SIGNAL] })
  isToldOfExpiry()
  happens('signal.confirmed', { signal_ids: [SIGNAL], drain_id: DRAIN })
  audit({ status: 'acked' })
  expect(broken).toEqual([])
})

test('a notice of expiry about a signal that was drained in time is detected', () => {
  const { broken, drains, isToldOfExpiry, audit } = aSignal()
  drains('run-1')
  isToldOfExpiry()
  audit({ status: 'acked' })
  expect(broken).toEqual([`a notice of expiry is true: ${SIGNAL} is acked`])
})
