/** Tests how the client scenes assign doorbells and drains to turns. */
import { describe, expect, test } from 'vitest'
import { turnsOf } from '../../support/clients/conversation.ts'
import type { ModelServer, Reply, Shown } from '../../support/clients/model-server.ts'

const bell = (id: string) =>
  `[turnbell] 1 signal waits (from operator: x). Call signals_pending once. (bell ${id})`
const handedOver = (id: string) => `Stop hook additional context: ${bell(id)}`
const drain = { tools: [{ name: 'signals_pending', input: {} }] }
const drained = (...payloads: string[]) =>
  JSON.stringify({ signals: payloads.map((payload) => ({ payload, deliveries: 1 })) })

function turns(...shown: { fresh?: string; results?: string[]; reply?: Reply }[]) {
  const requests = shown.map(({ fresh = '', results = [], reply = { text: 'Done.' } }, n): Shown => ({
    ...{ n, at: n, role: 'main', fresh, tools: [], reply },
    tool_results: results,
  }))
  return turnsOf({ shown: requests } as unknown as ModelServer).map(({ bells, drained }) => ({
    bells,
    drained,
  }))
}

describe('a turn', () => {
  test('a turn continues while the model calls tools', () => {
    const one = turns({ fresh: bell('aaaaaaaa'), reply: drain }, { results: [drained('1', '2')] })
    expect(one).toEqual([{ bells: ['aaaaaaaa'], drained: ['1', '2'] }])
  })

  test('a turn ends where the user denies a tool, and continues where the user gives another instruction', () => {
    const shows = (fresh: string) =>
      turns({ fresh: 'make a file', reply: drain }, { fresh, results: [fresh] }).length
    const denied = 'The user rejected permission to use this specific tool call'
    expect(shows(`${denied}.`)).toBe(2)
    expect(shows(`${denied} with the following feedback: no`)).toBe(1)
  })

  test('a turn that shows two doorbells has two', () => {
    const [only] = turns({ fresh: `${bell('aaaaaaaa')}\n${bell('bbbbbbbb')}` })
    expect(only?.bells).toEqual(['aaaaaaaa', 'bbbbbbbb'])
    const [handed] = turns({ fresh: `${bell('aaaaaaaa')}\n${handedOver('bbbbbbbb')}` })
    expect(handed?.bells).toEqual(['aaaaaaaa', 'bbbbbbbb'])
  })

  test('a turn interrupted before the first request keeps its doorbell', () => {
    const fresh = `[Request interrupted by user]\n\n${bell('aaaaaaaa')}\n${handedOver('bbbbbbbb')}`
    expect(turns({ fresh, reply: drain }, { results: [drained('1')] })).toEqual([
      { bells: ['bbbbbbbb'], drained: [] },
      { bells: ['aaaaaaaa'], drained: ['1'] },
    ])
  })

  test('a turn after an interrupt that shows only an earlier doorbell was begun by that doorbell', () => {
    const fresh = `[Request interrupted by user]\n\n${handedOver('bbbbbbbb')}`
    expect(turns({ fresh, reply: drain }, { results: [drained('1')] })).toEqual([
      { bells: ['bbbbbbbb'], drained: ['1'] },
    ])
  })
})
