import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createKinds } from '../../../../src/modules/records/kinds.ts'
import type { RecordKind } from '../../../../src/contracts/memory/records.ts'
import { KINDS } from '../../../support/worlds/record-world.ts'

const kind = (changes: Partial<RecordKind>): RecordKind => ({ ...KINDS.chore, ...changes })
const status = (changes: Partial<NonNullable<RecordKind['status']>>) =>
  kind({ status: { ...KINDS.chore.status, ...changes } })

describe('a kind', () => {
  test('a kind has the statuses and the input that its declaration implies', () => {
    const known = createKinds([KINDS.chore]).get('chore')
    expect(known.statuses).toEqual(['open', 'running', 'done'])
    expect(Object.keys(known.input.shape)).toEqual([
      ...['id', 'status', 'title', 'count', 'owner', 'scope', 'agent_id'],
    ])
    expect(Object.keys(known.own.shape)).toEqual(['title', 'count', 'owner', 'result', 'grade'])
    expect(createKinds([KINDS.note]).get('note').statuses).toEqual([])
  })

  const WRONG: [string, RecordKind, RegExp][] = [
    ['has an invalid name', kind({ name: 'Chore-2' }), /the name is not allowed/],
    ...['persona', 'project', 'rejected', 'routine_report'].map((name): [string, RecordKind, RegExp] => [
      `has the name of a built-in kind, ${name}`,
      kind({ name }),
      /the name is not allowed/,
    ]),
    [
      'has a field named like a common field',
      kind({ fields: z.strictObject({ generation: z.number() }) }),
      /the field name generation is reserved/,
    ],
    [
      'has a field named like a query parameter',
      kind({ fields: z.strictObject({ limit: z.number() }) }),
      /the field name limit is reserved/,
    ],
    [
      'has a project field within a project',
      kind({ fields: z.strictObject({ project_id: z.string() }) }),
      /project_id is derived/,
    ],
    [
      'has a duplicate closing field',
      status({ closing: { to: 'done', fields: { title: z.string() } } }),
      /closing field has the name of another field/,
    ],
    [
      'closes to an unreachable status',
      status({ closing: { to: 'gone' } }),
      /no status leads to the closing status gone/,
    ],
    [
      'has a status with an invalid name',
      status({ moves: { open: ['Done!'] } }),
      /Done! is not a valid status/,
    ],
    ['is unique by a missing field', kind({ unique: ['name'] }), /unique field name is not/],
  ]
  test.each(WRONG)('a kind that %s prevents the start', (_, wrong, why) => {
    expect(() => createKinds([wrong])).toThrow(why)
  })

  test('a duplicate kind prevents the start', () => {
    expect(() => createKinds([KINDS.note, kind({ name: 'note' })])).toThrow(
      'two kinds of records are called note',
    )
  })
})
