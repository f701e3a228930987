import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createKinds } from '../../../../src/modules/records/kinds.ts'
import type { RecordKind } from '../../../../src/contracts/records.ts'
import { KINDS } from '../../../support/record-world.ts'

const kind = (changes: Partial<RecordKind>): RecordKind => ({ ...KINDS.chore, ...changes })
const status = (changes: Partial<NonNullable<RecordKind['status']>>) =>
  kind({ status: { ...KINDS.chore.status, ...changes } })

describe('a kind', () => {
  test('has what follows from its declaration: its statuses, and what a put takes', () => {
    const known = createKinds([KINDS.chore]).get('chore')
    expect(known.statuses).toEqual(['open', 'running', 'done'])
    expect(Object.keys(known.input.shape)).toEqual([
      ...['id', 'status', 'title', 'count', 'owner', 'scope', 'agent_id'],
    ])
    expect(Object.keys(known.own.shape)).toEqual(['title', 'count', 'owner', 'result', 'grade'])
    expect(createKinds([KINDS.note]).get('note').statuses).toEqual([])
  })

  const WRONG: [string, RecordKind, RegExp][] = [
    ['has no proper name', kind({ name: 'Chore-2' }), /no kind may have this name/],
    ...['persona', 'project', 'rejected', 'routine_report'].map((name): [string, RecordKind, RegExp] => [
      `is called as one of the hub’s own, ${name}`,
      kind({ name }),
      /no kind may have this name/,
    ]),
    [
      'calls a field as one that every record has',
      kind({ fields: z.strictObject({ generation: z.number() }) }),
      /its field generation means/,
    ],
    [
      'calls a field as a word of every query',
      kind({ fields: z.strictObject({ limit: z.number() }) }),
      /its field limit means/,
    ],
    [
      'says in a project in which project it is',
      kind({ fields: z.strictObject({ project_id: z.string() }) }),
      /project_id is told by where/,
    ],
    [
      'has a field of its closing twice',
      status({ closing: { to: 'done', fields: { title: z.string() } } }),
      /as well/,
    ],
    ['closes to where nothing leads', status({ closing: { to: 'gone' } }), /nothing leads to gone/],
    ['has a status with no proper name', status({ moves: { open: ['Done!'] } }), /Done! is no name/],
    ['is unique by a field it has not', kind({ unique: ['name'] }), /name, by which it should be unique/],
  ]
  test.each(WRONG)('that %s refuses to start', (_, wrong, why) => {
    expect(() => createKinds([wrong])).toThrow(why)
  })

  test('that is there already refuses to start', () => {
    expect(() => createKinds([KINDS.note, kind({ name: 'note' })])).toThrow(
      'two kinds of records are called note',
    )
  })
})
