/** Compares logs and tables with the reference store, and at every point where a crash may cut them. */
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RecordBody } from '../../src/ports/record-store.ts'
import { openProjectRecords } from '../../src/storage/file/project/project-records.ts'
import { createMemoryRecordStore } from '../../src/storage/memory/record-store.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const ID = fc.constantFrom('a', 'b', 'c', 'd/e', '')
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as fc.JsonValue)
const body = fc.dictionary(
  fc.constantFrom('id', 'kind', 'body', 'text', 'updated_at'),
  json,
) as fc.Arbitrary<RecordBody>
const store = fc.constantFrom(0 as const, 1 as const)

type Command =
  | { do: 'put'; who: 0 | 1; id: string; body: RecordBody; wait: boolean }
  | { do: 'remove' | 'set aside'; who: 0 | 1; id: string; wait: boolean }
  | { do: 'work'; who: 0 | 1; puts: { id: string; body: RecordBody | null }[] }
  | { do: 'list' | 'get' | 'reopen'; who: 0 | 1; id: string }

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ do: fc.constant('put' as const), who: store, id: ID, body, wait: fc.boolean() }),
  fc.record({
    do: fc.constantFrom('remove' as const, 'set aside' as const),
    ...{ who: store, id: ID, wait: fc.boolean() },
  }),
  fc.record({
    do: fc.constant('work' as const),
    who: store,
    puts: fc.array(fc.record({ id: ID, body: fc.option(body) }), { maxLength: 4 }),
  }),
  fc.record({ do: fc.constantFrom('list' as const, 'get' as const, 'reopen' as const), who: store, id: ID }),
)

describe.each(['entry', 'entity', 'decision'])('records of the kind %s', (kind) => {
  test('two stores of the kind agree with the reference store for any sequence of calls', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 20 }), async (commands) => {
        const root = temporaryDirectory()
        const stores = [openProjectRecords({ root }), openProjectRecords({ root })]
        const model = createMemoryRecordStore()
        /** Pending requests to one store; the other receives the same requests when they are done. */
        let asked: Promise<unknown>[] = []
        let asking: 0 | 1 = 0
        const settle = async () => {
          await Promise.all(asked)
          asked = []
        }
        for (const step of commands) {
          if (step.who !== asking) await settle()
          asking = step.who
          const real = stores[step.who] as (typeof stores)[0]
          if (step.do === 'put') {
            asked.push(real.put(kind, step.id, step.body), model.put(kind, step.id, step.body))
          } else if (step.do === 'remove' || step.do === 'set aside') {
            const gone = step.do === 'remove' ? 'remove' : 'quarantine'
            asked.push(real[gone](kind, step.id, 'bad'), model[gone](kind, step.id, 'bad'))
          } else if (step.do === 'work') {
            for (const one of [real, model]) {
              const work = one.exclusive(kind, async (held) => {
                await Promise.all(
                  step.puts.map(({ id, body: to }) => (to === null ? held.remove(id) : held.put(id, to))),
                )
              })
              asked.push(work)
            }
          } else if (step.do === 'get') {
            const [found, expected] = [real.get(kind, step.id), model.get(kind, step.id)]
            asked.push(Promise.all([found, expected]).then(([one, other]) => expect(one).toEqual(other)))
          } else {
            await settle()
            if (step.do === 'reopen') stores[step.who] = openProjectRecords({ root })
            expect(await stores[step.who]?.list(kind)).toEqual(await model.list(kind))
          }
          if ('wait' in step && step.wait) await settle()
        }
        await settle()
        for (const one of stores) expect(await one.list(kind)).toEqual(await model.list(kind))
      }),
      { numRuns: kind === 'decision' ? 15 : 30 },
    )
  })
})

describe('a log', () => {
  test('a log cut at any byte has lost at most its last line, and accepts new ones', async () => {
    const words = fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(words, fc.nat(), fc.boolean(), async (texts, at, isRead) => {
        const root = temporaryDirectory()
        const pause = async () => undefined
        const writer = openProjectRecords({ root, pause })
        await Promise.all(texts.map((text, n) => writer.put('entry', `n${n}`, { id: `n${n}`, text })))
        const file = path.join(root, '.turnbell/blackboard.jsonl')
        const whole = fs.readFileSync(file)
        const cut = at % (whole.length + 1)
        fs.truncateSync(file, cut)
        fs.utimesSync(file, new Date(), new Date(Date.now() - 5_000))
        // A record is present when its closing brace is; its newline may be missing.
        const left = whole.subarray(0, cut).toString('latin1').split('\n')
        const full = left.filter(
          (line, n) =>
            line !== '' && (n < left.length - 1 || line === whole.toString('latin1').split('\n')[n]),
        )
        const reader = openProjectRecords({ root, pause })
        const expected = full.map((_, n) => `n${n}`)
        if (isRead) expect((await reader.list('entry')).map(({ id }) => id)).toEqual(expected)
        await reader.put('entry', 'new', { id: 'new' })
        expect((await writer.list('entry')).map(({ id }) => id)).toEqual([...expected, 'new'].sort())
        expect(await reader.list('entry')).toEqual(await writer.list('entry'))
        for (const line of fs.readFileSync(file, 'utf8').split('\n').filter(Boolean)) JSON.parse(line)
      }),
      { numRuns: 50 },
    )
  })
})

describe('a table', () => {
  test('a table cut at any byte keeps every complete record', async () => {
    const words = fc.array(fc.string({ unit: 'grapheme', maxLength: 12 }), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(words, fc.nat(), fc.boolean(), async (texts, at, isPretty) => {
        const root = temporaryDirectory()
        const writer = openProjectRecords({ root })
        const records = texts.map((text, n) => ({ id: `n${n}`, text }))
        await Promise.all(records.map((one) => writer.put('entity', one.id, one)))
        const file = path.join(root, '.turnbell/graph/entities.json')
        const text = isPretty ? JSON.stringify(records, null, 2) : fs.readFileSync(file, 'utf8')
        const cut = text.slice(0, at % (text.length + 1))
        fs.writeFileSync(file, cut)
        fs.utimesSync(file, new Date(), new Date(Date.now() - 5_000))
        const rows = await openProjectRecords({ root }).list('entity')
        // Texts may contain line terminators for `^` and `.`.
        const ends = isPretty ? /(?<![^\n]) {2}\},?/g : /(?<![^\n]),?\{[^\n]*\}/g
        const expected = records.slice(0, cut.match(ends)?.length ?? 0)
        expect(rows.map(({ body: one }) => one)).toEqual(expected)
        await writer.put('entity', 'new', { id: 'new' })
        expect(await writer.list('entity')).toHaveLength(expected.length + 1)
      }),
      { numRuns: 30 },
    )
  })
})
