import { beforeEach, describe, expect, test } from 'vitest'
import { PAGE_FIELDS, type KeptRecord, type RecordSort } from '../../../../src/contracts/memory/records.ts'
import type { Fields } from '../../../../src/modules/records/change.ts'
import type { RecordQuery } from '../../../../src/modules/records/service.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { recordWorld, type RecordWorld } from '../../../support/worlds/record-world.ts'

let world: RecordWorld
beforeEach(async () => {
  world = await recordWorld()
})

const put = (kind: string, record: Fields, who = 'ada') => world.records.put(world.as(who), { kind, record })
const query = (input: RecordQuery) => world.records.query(world.as('ada'), input)
const titles = async (filter: RecordQuery['filter'], kind = 'chore', field = 'title') => {
  const { records } = await query({ kind, filter, sort: 'generation' })
  return records.map((record) => record[field])
}

describe('a filter', () => {
  beforeEach(async () => {
    await put('chore', { title: 'sweep the Attic', count: 2, owner: 'bob', scope: 'attic' })
    await world.clock.advance(3_600_000)
    await put('chore', { title: 'paint', count: 3, owner: null }, 'bob')
    await put('chore', { title: 'mend', agent_id: 'cyd' })
  })

  test('a filter by any field accepts one value or several', async () => {
    expect(await titles({ owner: 'bob' })).toEqual(['sweep the Attic'])
    expect(await titles({ title: ['paint', 'mend', 'nothing'] })).toEqual(['mend'])
    expect(await titles({ scope: 'attic' })).toEqual(['sweep the Attic'])
    expect(await titles({ agent_id: ['cyd', 'ada'] })).toEqual(['sweep the Attic', 'mend'])
    expect(await titles({ owner: 'bob', count: 3 })).toEqual([])
    expect(await titles({})).toHaveLength(2)
  })

  test('a filter accepts numbers as in a URL, and null for a missing value', async () => {
    expect(await titles({ count: '2' })).toEqual(['sweep the Attic'])
    expect(await titles({ count: 2 })).toEqual(['sweep the Attic'])
    expect(await titles({ owner: null })).toEqual(['mend'])
  })

  test('a filter matches a list by any of its entries', async () => {
    await put('note', { text: 'one', tags: ['red', 'blue'] })
    await put('note', { text: 'two', tags: [] })
    expect(await titles({ tags: 'blue' }, 'note', 'text')).toEqual(['one'])
    expect(await titles({ tags: ['green', 'red'] }, 'note', 'text')).toEqual(['one'])
    expect(await titles({ tags: 'b' }, 'note', 'text')).toEqual([])
  })

  test('a filter by status returns the records with that status', async () => {
    const { records } = await query({ kind: 'chore' })
    const { id } = records[0] as KeptRecord
    await world.records.close(world.as('ada'), { kind: 'chore', id, fields: { result: 'so' } })
    expect(await titles({ status: 'done' })).toEqual(['mend'])
    expect(await titles({ status: ['open', 'running'] })).toEqual(['sweep the Attic'])
    expect(await titles({ result: 'so' })).toEqual(['mend'])
  })

  test.each(['bogus', ['open', 'bogus'], [null], 7])(
    'a filter by an impossible status is rejected: %j',
    async (status) => {
      await expect(titles({ status })).rejects.toMatchObject({
        code: 'params_invalid',
        detail: expect.stringMatching(/filter: status: expected one of open, .*found/) as string,
      })
    },
  )

  test('a filter by time returns records from one time on until before another', async () => {
    const later = new Date(world.clock.now()).toISOString()
    expect(await titles({ since: later })).toEqual(['mend'])
    expect(await titles({ until: later })).toEqual(['sweep the Attic'])
    expect(await titles({ since: '2026-03-01', until: '2026-03-02' })).toHaveLength(2)
    expect(await titles({ since: '2026-03-01T14:00:00+01:00' })).toEqual(['mend'])
  })

  test('a filter by text matches a part of any text field, ignoring case', async () => {
    expect(await titles({ text: 'ATTIC' })).toEqual(['sweep the Attic'])
    expect(await titles({ text: 'ada' })).toEqual([])
    await put('note', { text: 'one', tags: ['Deep down'] })
    expect(await titles({ text: 'deep' }, 'note', 'text')).toEqual(['one'])
  })

  const BAD: [string, NonNullable<RecordQuery['filter']>, RegExp][] = [
    ['an unknown field', { tilte: 'x' }, /unknown field tilte \(did you mean title\?\); allowed: since, /],
    ['a prototype', { constructor: 'x' }, /unknown field constructor/],
    ['an invalid time', { since: 'yesterday' }, /since: expected an ISO 8601 time.*found "yesterday"/],
    ['an invalid day', { until: '2026-13-45' }, /until: expected an ISO 8601 time/],
    ['several times', { since: ['2026-01-01'] }, /since: expected string/],
    ['no text', { text: '' }, /text: expected string of at least 1/],
  ]
  test.each(BAD)('a filter with %s is rejected', async (_, filter, detail) => {
    await expect(query({ kind: 'chore', filter })).rejects.toMatchObject({ code: 'params_invalid', detail })
  })
})

describe('a page', () => {
  const numbers = (records: readonly KeptRecord[]) => records.map((record) => Number(record['text']))
  const walk = async (sort: RecordSort, limit: number) => {
    const seen: number[] = []
    let after: string | undefined
    do {
      const { records, next, total } = await query({ kind: 'note', sort, limit, after })
      expect(total).toBe(7)
      seen.push(...numbers(records))
      after = next ?? undefined
    } while (after !== undefined)
    return seen
  }

  beforeEach(async () => {
    for (let n = 0; n < 7; n += 1) {
      // Two for each time and for each area.
      if (n % 2 === 0) await world.clock.advance(1000)
      await put('note', { text: `${n}`, scope: `area-${n % 2}` })
    }
  })

  test('a page starts with the newest change by default, and contains the total number', async () => {
    const { records, next, total } = await query({ kind: 'note' })
    expect(numbers(records)).toEqual([6, 5, 4, 3, 2, 1, 0])
    expect([next, total]).toEqual([null, 7])
  })

  test.each([1, 2, 3, 7, 100])('pages of %d together contain everything once', async (limit) => {
    expect(await walk('generation', limit)).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(await walk('-generation', limit)).toEqual([6, 5, 4, 3, 2, 1, 0])
    expect(await walk('created_at', limit)).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(await walk('scope', limit)).toEqual([0, 2, 4, 6, 1, 3, 5])
    expect(await walk('-scope', limit)).toEqual([5, 3, 1, 6, 4, 2, 0])
    expect(await walk('status', limit)).toEqual([0, 1, 2, 3, 4, 5, 6])
  })

  test.each(['…', '\u0001', '"'])(
    'a page returns a cursor that a call accepts, for every sort order: %j',
    async (sign) => {
      const scope = sign.repeat(LIMITS.record_scope_length_max)
      for (const text of ['7', '8']) await put('note', { text, scope })
      const { next } = await query({ kind: 'note', sort: 'scope', limit: 1, filter: { scope } })
      expect(PAGE_FIELDS.after.safeParse(next).success).toBe(true)
    },
  )

  test('a page continues where the previous one ended, whatever was stored in between', async () => {
    const first = await query({ kind: 'note', sort: 'generation', limit: 3 })
    const { id } = first.records[1] as KeptRecord
    await put('note', { id, scope: 'moved' })
    await put('note', { text: '7' })
    const rest = await query({ kind: 'note', sort: 'generation', after: String(first.next) })
    expect(numbers(rest.records)).toEqual([3, 4, 5, 6, 1, 7])
  })

  test('a page ends before it exceeds a frame, and contains at least one record', async () => {
    const text = 'x'.repeat(LIMITS.record_bytes_max - 1_000)
    for (let n = 0; n < 3; n += 1) await put('note', { text })
    const first = await query({ kind: 'note', limit: 3 })
    expect(first.records).toHaveLength(2)
    const second = await query({ kind: 'note', limit: 3, after: String(first.next) })
    expect(second.records[0]).toMatchObject({ text })
    expect(Buffer.byteLength(JSON.stringify(first))).toBeLessThan(LIMITS.frame_bytes_max)
  })

  test.each([
    ['an invented cursor', 'x'],
    ['a malformed cursor', Buffer.from('[1]').toString('base64url')],
  ])('a page after %s is rejected', async (_, after) => {
    const refused = query({ kind: 'note', after })
    await expect(refused).rejects.toMatchObject({ code: 'params_invalid', detail: /^after: / })
  })

  test('a page after a cursor of another order is rejected', async () => {
    const { next } = await query({ kind: 'note', limit: 1 })
    const refused = query({ kind: 'note', after: String(next), sort: 'created_at' })
    await expect(refused).rejects.toMatchObject({
      detail: /sorted by -generation, this one is by created_at/,
    })
  })
})
