/** Tests the index's own data structures against plain reference implementations. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { IdIndex } from '../../../src/storage/file/signals/index/id-index.ts'
import { PendingQueue } from '../../../src/storage/file/signals/index/pending-queue.ts'
import { PAGE_ROWS, Rows, STATUS } from '../../../src/storage/file/signals/index/signal-rows.ts'
import { RowQueue } from '../../../src/storage/file/signals/index/row-queue.ts'
import { RowHashTable } from '../../../src/storage/file/signals/index/row-hash-table.ts'

describe('the row hash table', () => {
  test('the hash table contains the same rows as a set, whatever the hashes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 3000 })), { maxLength: 4000, size: 'max' }),
        fc.constantFrom(1, 7, 2 ** 32),
        (steps, hashes) => {
          const hashOf = (row: number) => (row * 2_654_435_761) % hashes
          const table = new RowHashTable(hashOf)
          const set = new Set<number>()
          for (const [add, row] of steps) {
            if (add && !set.has(row)) table.add(row)
            if (!add) table.remove(row)
            if (add) set.add(row)
            else set.delete(row)
          }
          // Compared as a whole, because an expectation for each row takes longer than the rest.
          const rows = Array.from({ length: 3001 }, (_, row) => row)
          const foundIn = (where: RowHashTable) =>
            rows.filter((row) => where.find(hashOf(row), (one) => one === row) === row)
          const held = [...set].toSorted((a, b) => a - b)
          expect(foundIn(table)).toEqual(held)
          expect(foundIn(new RowHashTable(hashOf, table.raw.slice()))).toEqual(held)
        },
      ),
      { numRuns: 30 },
    )
  })
})

describe('the id index', () => {
  const id = (value: number) => Uint32Array.from([0, 0, Math.floor(value / 8), value % 8])

  test('the id index finds the same rows as a map, for any order of ids, with removed rows and after a snapshot', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            // Mostly ascending, with some late ids and some ids ahead.
            step: fc.oneof({ weight: 20, arbitrary: fc.constant(1) }, fc.integer({ min: -40, max: 40 })),
            times: fc.integer({ min: 1, max: PAGE_ROWS }),
            drop: fc.double({ min: 0, max: 1, noNaN: true }),
          }),
          { maxLength: 12 },
        ),
        (steps) => {
          const rows = new Rows()
          const book = new IdIndex(rows)
          const map = new Map<number, number>()
          let value = 100
          for (const { step, times, drop } of steps) {
            for (let time = 0; time < times; time += 1) {
              value = Math.max(1, value + (time === 0 ? step : 1))
              if (map.has(value)) continue
              const row = rows.add(rows.end + 1)
              rows.page(row).status[rows.slot(row)] = STATUS.pending
              rows.setId(row, id(value))
              book.add(row, id(value))
              map.set(value, row)
            }
            for (const [known, row] of [...map].slice(0, Math.floor(drop * map.size))) {
              book.remove(row)
              rows.drop(row)
              book.dropped(row)
              map.delete(known)
            }
          }
          const again = new IdIndex(rows, book.raw.slice())
          const wrong = Array.from({ length: value + 100 }, (_, one) => one).filter((one) => {
            const row = map.get(one) ?? -1
            return book.find(id(one)) !== row || again.find(id(one)) !== row
          })
          expect(wrong).toEqual([])
        },
      ),
      { numRuns: 30 },
    )
  })

  test('the id index needs no memory for ascending ids', () => {
    const rows = new Rows()
    const book = new IdIndex(rows)
    for (let value = 1; value <= 2 * PAGE_ROWS; value += 1) {
      const row = rows.add(value)
      rows.setId(row, id(value))
      book.add(row, id(value))
    }
    expect(new Set(book.raw)).toEqual(new Set([-1]))
  })
})

describe('the row queue', () => {
  test('the row queue contains the same rows as a sorted list', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            { weight: 4, arbitrary: fc.record({ do: fc.constant('append' as const) }) },
            { weight: 3, arbitrary: fc.record({ do: fc.constant('first' as const) }) },
            {
              weight: 2,
              arbitrary: fc.record({ do: fc.constant('add' as const), row: fc.nat({ max: 200 }) }),
            },
            {
              weight: 2,
              arbitrary: fc.record({ do: fc.constant('remove' as const), row: fc.nat({ max: 200 }) }),
            },
          ),
          { maxLength: 400, size: 'max' },
        ),
        (steps) => {
          const queue = new RowQueue()
          let list: number[] = []
          let next = 0
          for (const step of steps) {
            const row = step.do === 'append' ? next++ : step.do === 'first' ? (list[0] ?? 0) : step.row
            if (step.do === 'append' || step.do === 'add') {
              queue.add(row)
              list = [...new Set([...list, row])].sort((a, b) => a - b)
            } else {
              queue.remove(row)
              list = list.filter((one) => one !== row)
            }
            expect(Array.from({ length: queue.size }, (_, index) => queue.at(index))).toEqual(list)
          }
        },
      ),
    )
  })
})

describe('the pending queue', () => {
  test('the pending queue drops a persona without pending signals', () => {
    const order = new PendingQueue()
    order.add(1, 3, 10, false)
    order.add(1, 9, 11, true)
    expect([order.total, order.count(1), order.addressed(1)]).toEqual([2, 2, 1])
    order.remove(1, 3, 10, false)
    order.remove(1, 9, 11, true)
    expect([...order.counts()]).toEqual([])
    expect([order.total, order.count(1), order.addressed(1)]).toEqual([0, 0, 0])
  })
})

describe('rows', () => {
  test('rows store seqs that differ by more than 32 bits', () => {
    const rows = new Rows()
    const seqs = [1, 2, 4_294_967_295, 4_294_967_297, 9_000_000_000_000, 9_007_199_254_740_991]
    const numbers = seqs.map((seq) => rows.add(seq))
    expect(numbers.map((row) => rows.seq(row))).toEqual(seqs)
    expect([...numbers].sort((a, b) => a - b)).toEqual(numbers)
  })

  test('a page is freed with its last row, and no row number is reused', () => {
    const rows = new Rows()
    for (let seq = 1; seq <= 2 * PAGE_ROWS; seq += 1) {
      const row = rows.add(seq)
      rows.page(row).status[rows.slot(row)] = STATUS.forgotten
    }
    for (let row = 0; row < PAGE_ROWS; row += 1) rows.drop(row)
    expect(rows.holds(0)).toBe(false)
    expect(rows.holds(PAGE_ROWS)).toBe(true)
    expect(rows.add(2 * PAGE_ROWS + 1)).toBe(2 * PAGE_ROWS)
  })

  test('rows store any time exactly, also before the creation or years after it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 8.64e15 }),
        fc.integer({ min: -8.64e15, max: 8.64e15 }),
        (created, time) => {
          const rows = new Rows()
          const row = rows.add(1)
          rows.page(row).created_ms[rows.slot(row)] = created
          expect(rows.time(row, 'seen_at')).toBeNull()
          rows.setTime(row, 'seen_at', time)
          rows.setExpires(row, time)
          expect(rows.time(row, 'seen_at')).toBe(time)
          expect(rows.expires(row)).toBe(time)
          rows.setTime(row, 'seen_at', created)
          expect(rows.time(row, 'seen_at')).toBe(created)
          rows.setTime(row, 'seen_at', null)
          expect(rows.time(row, 'seen_at')).toBeNull()
        },
      ),
    )
  })

  test('rows allocate an optional column only for pages that need it', () => {
    const rows = new Rows()
    for (let seq = 1; seq <= 2 * PAGE_ROWS; seq += 1) rows.add(seq)
    rows.set(5, 'lease', 0)
    expect(rows.page(5).columns).toEqual({})
    rows.set(5, 'lease', 7)
    expect(rows.get(5, 'lease')).toBe(7)
    expect(rows.get(6, 'lease')).toBe(0)
    expect(rows.page(PAGE_ROWS).columns).toEqual({})
  })
})
