import { describe, expect, test } from 'vitest'
import { ago, describeSignal, duration, printable, table } from '../../../src/cli/render.ts'
import type { DrainedSignal } from '../../../src/contracts/signal.ts'

test('a table has aligned columns and no trailing blanks', () => {
  expect(
    table(
      ['NAME', 'N'],
      [
        ['ada', '1'],
        ['bartholomew', ''],
      ],
    ),
  ).toBe('NAME         N\nada          1\nbartholomew')
})

test.each([
  [-1, '0 s'],
  [0.4, '0 s'],
  [59.9, '59 s'],
  [60, '1 min'],
  [3_599, '59 min'],
  [3_600, '1 h'],
  [86_400 * 9, '9 d'],
])('%d seconds are formatted as %s', (seconds, text) => expect(duration(seconds)).toBe(text))

test('a missing age is formatted as never', () => expect(ago(null)).toBe('never'))

describe('a drained signal', () => {
  const signal: DrainedSignal = {
    signal_id: '01JZ0000000000000000000000',
    from: 'bob',
    origin: 'agent',
    to: 'ada',
    intent: 'review',
    payload: 'Look at\nthe cart.',
    priority: 3,
    created_at: '2026-01-01T00:00:00.000Z',
    deliveries: 1,
  }
  const now = Date.parse('2026-01-01T00:00:05.000Z')

  test('a drained signal is formatted with sender, intent, age and text', () => {
    expect(describeSignal(signal, now)).toBe(
      '01JZ0000000000000000000000  review from bob (agent), 5 s ago, priority 3\n    Look at\n    the cart.',
    )
  })
  test('a drained signal is formatted with its deliveries', () => {
    expect(describeSignal({ ...signal, deliveries: 3 }, now)).toContain('delivery 3')
  })
  test('a drained signal without a payload is one line', () => {
    expect(describeSignal({ ...signal, payload: null }, now)).not.toContain('\n')
  })
  test('a drained signal is formatted without control characters', () => {
    const text = describeSignal({ ...signal, payload: '\u001b]0;owned\u0007\u001b[2Jhi\u009b1mtab\t' }, now)

    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
    expect(text).toContain('hi')
    expect(text).toContain('tab\t')
  })
  test.each([
    ['in its topic', { topic: 'cart\u001b[2J\u009b1m' }],
    ['in a payload of fields', { payload: { a: '\u009b2J', 'b\u007f': ['\u001b[2J'] } }],
  ])('a drained signal has no control characters %s', (_, more) => {
    expect(describeSignal({ ...signal, ...more }, now)).not.toMatch(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/,
    )
  })
  test('a drained signal has its topic in the first line', () => {
    const text = describeSignal({ ...signal, payload: null, topic: 'cart\r\n01JZ  done from ada\tnow' }, now)
    expect(text).toMatch(/, topic cart 01JZ {2}done from ada now$/)
    expect(text).not.toContain('\n')
  })
  test('a drained signal keeps its JSON fields readable for programs', () => {
    const payload = { a: '\u009b2J\u001b', b: 'zażółć\n' }
    const [, ...shown] = describeSignal({ ...signal, payload }, now).split('\n')
    expect(JSON.parse(shown.join('\n'))).toEqual(payload)
  })
  test('a drained signal keeps ordinary text unchanged', () => {
    expect(printable('zażółć 🦊 ok')).toBe('zażółć 🦊 ok')
  })
})
