/** Properties of two stores on one directory, as in two processes, and an external editor. */
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RecordBody, RecordRow } from '../../src/ports/record-store.ts'
import { parseRecord, recordName, recordText } from '../../src/storage/file/records/record-file.ts'
import { openProjectRecords } from '../../src/storage/file/project/project-records.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const ID = fc.constantFrom('a', 'b', 'c', 'd/e')
/** JSON values without negative zeros, which JSON cannot represent. */
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as fc.JsonValue)
const fields = fc.dictionary(
  fc.constantFrom('title', 'body', 'id', 'kind', 'n'),
  json,
) as fc.Arbitrary<RecordBody>

describe('the text of a record', () => {
  test('the text of a record can be parsed to the record, in either form', () => {
    const own = fc.record({ kind: fc.constant('issue'), id: ID }, { requiredKeys: [] })
    fc.assert(
      fc.property(fc.constantFrom('wrapped', 'plain'), ID, fields, own, (form, id, body, says) => {
        const whole = { ...body, ...says }
        const text = recordText(form, 'issue', id, whole)
        expect(parseRecord(form, 'issue', recordName(id), text)).toEqual({ id, body: whole })
      }),
    )
  })

  test('the text of a record cut off anywhere is invalid or unchanged', () => {
    fc.assert(
      fc.property(fc.constantFrom('wrapped', 'plain'), fields, fc.nat(), (form, body, cut) => {
        const text = recordText(form, 'issue', 'a', body)
        const read = parseRecord(form, 'issue', 'a', text.slice(0, cut % text.length))
        if ('id' in read) expect(read).toEqual({ id: 'a', body })
      }),
    )
  })
})

type Command =
  | { do: 'put'; who: 0 | 1; id: string; body: RecordBody }
  | { do: 'remove' | 'get'; who: 0 | 1; id: string }
  | { do: 'add'; who: 0 | 1; id: string; times: number }
  | { do: 'edit'; id: string; n: number }
  | { do: 'break' | 'delete'; id: string }
  | { do: 'list'; who: 0 | 1 }

const oneMore = (body: RecordBody | null): RecordBody => {
  const n = body?.['n']
  return { ...body, n: typeof n === 'number' ? n + 1 : 1 }
}

const who = fc.constantFrom(0 as const, 1 as const)
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ do: fc.constant('put' as const), who, id: ID, body: fields }),
  fc.record({ do: fc.constantFrom('remove' as const, 'get' as const), who, id: ID }),
  fc.record({ do: fc.constant('add' as const), who, id: ID, times: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('edit' as const), id: ID, n: fc.nat({ max: 9 }) }),
  fc.record({ do: fc.constantFrom('break' as const, 'delete' as const), id: ID }),
  fc.record({ do: fc.constant('list' as const), who }),
  fc.record({ do: fc.constant('list' as const), who }),
)

test('two stores see the same records after any changes by both stores and an editor', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 25 }), async (commands) => {
      const root = temporaryDirectory()
      // No writer is active, so the stores need not wait for an incomplete line.
      const stores = [0, 1].map(() => openProjectRecords({ root, pause: async () => undefined }))
      const model = new Map<string, RecordBody>()
      const expected = (): RecordRow[] =>
        [...model].map(([id, body]) => ({ id, body })).sort((a, b) => (a.id < b.id ? -1 : 1))
      const file = (id: string) => path.join(root, '.turnbell/records/issue', `${recordName(id)}.json`)
      const store = (number: 0 | 1) => stores[number] as (typeof stores)[0]

      for (const step of commands) {
        if (step.do === 'put') {
          await store(step.who).put('issue', step.id, step.body)
          model.set(step.id, step.body)
        } else if (step.do === 'remove') {
          await store(step.who).remove('issue', step.id)
          model.delete(step.id)
        } else if (step.do === 'get') {
          expect(await store(step.who).get('issue', step.id)).toEqual(model.get(step.id) ?? null)
        } else if (step.do === 'add') {
          // Both stores add at once, and no addition may be lost.
          const adding = Array.from({ length: step.times }, (_, turn) =>
            store(turn % 2 === step.who ? 0 : 1).exclusive('issue', async (records) => {
              await records.put(step.id, oneMore(await records.get(step.id)))
            }),
          )
          await Promise.all(adding)
          for (let time = 0; time < step.times; time += 1) {
            model.set(step.id, oneMore(model.get(step.id) ?? null))
          }
        } else if (step.do === 'list') {
          expect(await store(step.who).list('issue')).toEqual(expected())
        } else if (fs.existsSync(file(step.id))) {
          const body = model.get(step.id)
          if (step.do === 'delete') fs.rmSync(file(step.id))
          if (step.do === 'break') fs.writeFileSync(file(step.id), '{"torn":')
          if (step.do === 'edit') {
            const edited = { ...body, n: step.n }
            fs.writeFileSync(file(step.id), recordText('wrapped', 'issue', step.id, edited))
            model.set(step.id, edited)
          } else model.delete(step.id)
        }
      }
      for (const one of stores) expect(await one.list('issue')).toEqual(expected())
    }),
    { numRuns: 40 },
  )
})
