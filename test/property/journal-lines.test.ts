/** Parsing an encoded line returns the original, for every line that a journal may contain. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Signal } from '../../src/contracts/signal.ts'
import {
  emptyHead,
  entryText,
  fillHead,
  parseEntry,
  signalOf,
  signalText,
  type Entry,
} from '../../src/storage/file/journal/journal-entries.ts'
import { isValidLine, sealedLine, sealLine, SEAL_BYTES } from '../../src/storage/file/journal/sealed-line.ts'
import {
  createHeaderReader,
  isSignalLine,
  TimeReader,
} from '../../src/storage/file/signals/signal-line-header.ts'
import { unpackUlid, packUlid } from '../../src/storage/file/journal/ulid-words.ts'

const ulid = fc.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
const time = fc
  .date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  })
  .map((date) => date.toISOString())
const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constant('"\\,"payload":'))
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as Signal['payload'])
const seq = fc.integer({ min: 1, max: 2 ** 31 })
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })

const signal: fc.Arbitrary<Signal> = fc
  .record({
    signal_id: ulid,
    to: fc.oneof(fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,62}$/), text),
    from: fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,62}$/),
    origin: fc.constantFrom('human', 'agent', 'system'),
    intent: fc.oneof(fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}$/), text),
    payload: json,
    priority: fc.integer({ min: 0, max: 9 }),
    created_at: time,
    expires_at: time,
    topic: optional(text),
    reply_to: optional(fc.constantFrom('ada', 'bob')),
    in_reply_to: optional(ulid),
    to_session: optional(text),
    broadcast_id: optional(ulid),
    idempotency_key: optional(text),
  })
  .map((made) => JSON.parse(JSON.stringify(made)) as Signal)

function sealed(open: string): Buffer {
  const bytes = Buffer.byteLength(open)
  // The line is in the middle of the buffer, as in a batch.
  const buffer = Buffer.alloc(bytes + SEAL_BYTES + 20, '#')
  buffer.write(open, 10)
  const end = sealLine(buffer, 10, 10 + bytes)
  return buffer.subarray(10, end - 1)
}

describe('a signal’s line', () => {
  test('a signal’s line returns the signal, and its header the fields of the index', () => {
    const readHeader = createHeaderReader()
    fc.assert(
      fc.property(signal, seq, fc.nat({ max: 3 }), (signal, seq, left) => {
        const line = sealed(signalText(signal, seq, left))
        expect(isValidLine(line, 0, line.length)).toBe(true)
        expect(isSignalLine(line, 0)).toBe(true)
        expect(signalOf(line.toString())).toEqual(signal)
        const expected = emptyHead()
        fillHead(expected, signal, seq)
        expect({ ...readHeader(line, 0, line.length) }).toEqual({ ...expected, left })
      }),
    )
  })

  test('a signal’s line has each name exactly as in JSON, plain or escaped', () => {
    fc.assert(
      fc.property(signal, (signal) => {
        for (const name of ['to', 'from', 'intent', 'topic', 'to_session'] as const) {
          if (signal[name] === undefined) continue
          expect(signalText(signal, 1, 0)).toContain(`,"${name}":${JSON.stringify(signal[name])}`)
        }
      }),
    )
  })

  test('a signal’s line returns names of any length, also with the same prefix as in the previous line', () => {
    const readHeader = createHeaderReader()
    const name = fc.stringMatching(/^[a-c]{0,5}$/)
    fc.assert(
      fc.property(
        fc.array(fc.record({ to: name, from: name, intent: name }), { minLength: 1 }),
        fc.constantFrom<Signal['payload']>(null, 'x', {}),
        (names, payload) => {
          for (const { to, from, intent } of names) {
            const of: Signal = {
              ...{ signal_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV', to, from, intent, payload, priority: 1 },
              ...{ origin: 'agent', created_at: '2026-03-01T12:00:00.000Z' },
              expires_at: '2026-03-02T12:00:00.000Z',
            }
            const line = sealed(signalText(of, 1, 0))
            expect(readHeader(line, 0, line.length)).toMatchObject({ to, from, intent })
          }
        },
      ),
    )
  })

  test('a signal’s line has the same meaning with its members in another order', () => {
    const readHeader = createHeaderReader()
    fc.assert(
      fc.property(signal, seq, (signal, seq) => {
        const { payload, ...header } = signal
        const line = sealed(JSON.stringify({ kind: 'signal', ...header, seq, payload }).slice(0, -1))
        const expected = emptyHead()
        fillHead(expected, signal, seq)
        expect({ ...readHeader(line, 0, line.length) }).toEqual(expected)
      }),
    )
  })

  test('a signal’s line without the fields of the index is rejected', () => {
    const readHeader = createHeaderReader()
    for (const open of [
      '{"kind":"signal","seq":1',
      '{"kind":"signal","payload":1',
      '{"kind":"signal","seq":1,"to":"bob","signal_id":"short","payload":1',
      '{"kind":"signal","seq":"1","to":"bob","signal_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","payload":1',
      '{"kind":"signal","seq":1,"signal_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","payload":1',
    ]) {
      const line = sealed(open)
      expect(() => readHeader(line, 0, line.length)).toThrow()
    }
  })
})

describe('any other line', () => {
  const ids = fc.array(ulid)
  const entry: fc.Arbitrary<Entry> = fc.oneof(
    fc.record({ kind: fc.constant('commit' as const), at: fc.nat() }),
    fc.record({
      kind: fc.constant('lease' as const),
      drain_id: ulid,
      session_id: text,
      identity: fc.constant('bob'),
      at: time,
      signal_ids: ids,
    }),
    fc.record({ kind: fc.constant('confirm' as const), drain_id: ulid, at: time, signal_ids: ids }),
    fc.record({ kind: fc.constant('release' as const), pending: ids, dead: ids }),
    fc.record({ kind: fc.constant('complete' as const), at: time, signal_ids: ids, result: json }),
    fc.record({ kind: fc.constant('replay' as const), expires_at: time, signal_ids: ids }),
    fc.record({
      kind: fc.constant('mark' as const),
      stage: fc.constantFrom('pushed_at' as const, 'rung_at' as const, 'seen_at' as const),
      at: time,
      signal_ids: ids,
    }),
  )

  test('any other line returns its entry', () => {
    fc.assert(
      fc.property(entry, (entry) => {
        const line = sealed(entryText(entry))
        expect(isSignalLine(line, 0)).toBe(false)
        expect(parseEntry(line.toString())).toEqual(entry)
        expect(sealedLine(entry).toString()).toBe(`${line.toString()}\n`)
      }),
    )
  })

  test('a line of an unknown kind is rejected', () => {
    expect(() => parseEntry('{"kind":"banana","crc":"00000000"}')).toThrow(/banana/)
    expect(() => parseEntry('[]')).toThrow()
    expect(() => parseEntry('null')).toThrow()
  })
})

describe('a checksum', () => {
  test('a checksum detects any byte that was changed, removed or added', () => {
    fc.assert(
      fc.property(signal, fc.nat(), fc.integer({ min: 1, max: 255 }), (signal, pick, by) => {
        const line = sealed(signalText(signal, 7, 0))
        const at = pick % line.length
        const changed = Buffer.from(line)
        changed[at] = (changed[at] as number) ^ by
        expect(isValidLine(changed, 0, changed.length)).toBe(false)
        const taken = Buffer.concat([line.subarray(0, at), line.subarray(at + 1)])
        expect(isValidLine(taken, 0, taken.length)).toBe(false)
        const added = Buffer.concat([line.subarray(0, at), Buffer.from([by]), line.subarray(at)])
        expect(isValidLine(added, 0, added.length)).toBe(false)
      }),
    )
  })

  test('a checksum does not match a text that is too short to have one', () => {
    for (const line of ['', '{}', '"crc":"00000000"}', ',"crc":"00000000"}']) {
      expect(isValidLine(Buffer.from(line), 0, line.length)).toBe(false)
    }
  })
})

describe('the short forms', () => {
  test('a ULID as words is the same ULID, and words are ordered like the text', () => {
    fc.assert(
      fc.property(ulid, ulid, (one, other) => {
        const [a, b] = [new Uint32Array(4), new Uint32Array(4)]
        expect(packUlid(one, a) && packUlid(other, b)).toBe(true)
        expect(unpackUlid(a[0]!, a[1]!, a[2]!, a[3]!)).toBe(one)
        const differs = a.findIndex((word, at) => word !== b[at])
        expect(differs === -1 ? 0 : a[differs]! < b[differs]! ? -1 : 1).toBe(
          one < other ? -1 : one > other ? 1 : 0,
        )
      }),
    )
  })

  test('a text that is not a ULID has no words', () => {
    const words = new Uint32Array(4)
    for (const text of [
      '',
      '01ARZ3NDEKTSV4RRFFQ69G5FA',
      '01ARZ3NDEKTSV4RRFFQ69G5FAVV',
      '81ARZ3NDEKTSV4RRFFQ69G5FAV',
      '01arz3ndektsv4rrffq69g5fav',
      '01ARZ3NDEKTSV4RRFFQ69G5FAI',
      '01ARZ3NDEKTSV4RRFFQ69G5FAŰ',
    ]) {
      expect(packUlid(text, words)).toBe(false)
    }
  })

  test('a time is parsed like Date does, and any other text is rejected', () => {
    const times = new TimeReader()
    const read = (text: string) => {
      const bytes = Buffer.from(`##${text}`)
      return times.read(bytes, new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 2)
    }
    fc.assert(
      fc.property(time, fc.integer({ min: 0, max: 59_999 }), (time, later) => {
        expect(read(time)).toBe(Date.parse(time))
        const sameMinute = `${time.slice(0, 17)}${new Date(later).toISOString().slice(17)}`
        expect(read(sameMinute)).toBe(Date.parse(sameMinute))
      }),
    )
    for (const text of [
      '2026-03-01T12:00:00.00xZ',
      '2026-03-01T12:00:0x.000Z',
      '2026-03-01T12:00:00.000z',
      '2026-03-01T12:00.00.000Z',
      '2026-13-01T12:00:00.000Z',
      '2026-03-01T1x:00:00.000Z',
      '2026-03-01T12:00:00+01:00',
      '2026-03-01T12:00:00.000',
      '',
    ]) {
      expect(read(text)).toBeNaN()
    }
  })
})
