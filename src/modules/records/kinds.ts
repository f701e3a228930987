/** Which kinds of records there are. A kind that contradicts itself or another refuses to start: it is ours. */
import type { z } from 'zod'
import { TurnbellError } from '../../contracts/errors.ts'
import { nearest } from '../../contracts/names.ts'
import {
  closingFields,
  ownFields,
  recordInput,
  statusesOf,
  storedRecord,
} from '../../contracts/record-schemas.ts'
import {
  FILTER_WORDS,
  KeptRecord,
  KindName,
  PAGE_FIELDS,
  RecordStatus,
  type RecordKind,
  type StatusRules,
} from '../../contracts/records.ts'

/** A kind with what follows from its declaration; see `record-schemas.ts`. */
export interface KnownKind {
  kind: RecordKind
  /** All of them, the initial one first; none where the kind has no status. */
  statuses: readonly string[]
  /** What a put takes as `record`. */
  input: z.ZodObject
  /** The kind's own fields, those of its closing included. */
  own: z.ZodObject
  /** What a file must hold to be such a record. */
  stored: z.ZodObject
}

export interface Kinds {
  /** In the order of their declarations. */
  list(): readonly KnownKind[]
  /** Throws `kind_unknown`, naming what there is and what was probably meant. */
  get(name: string): KnownKind
}

/** Kept by the hub itself, in the same place. */
const TAKEN: readonly string[] = ['persona', 'project', 'rejected', 'routine_report']
/** A field of such a name could not be asked for: a query has another meaning for it. */
const QUERY_WORDS = [...Object.keys(PAGE_FIELDS), ...Object.keys(FILTER_WORDS), 'filter']
/** `text` is looked for in every text of a record, that field included. */
const RESERVED = new Set([...Object.keys(KeptRecord.shape), ...QUERY_WORDS].filter((word) => word !== 'text'))

export function createKinds(kinds: readonly RecordKind[]): Kinds {
  const known = new Map<string, KnownKind>()
  for (const kind of kinds) {
    if (known.has(kind.name)) throw new Error(`two kinds of records are called ${kind.name}`)
    known.set(kind.name, derived(kind))
  }
  return {
    list: () => [...known.values()],
    get(name) {
      const found = known.get(name)
      if (found !== undefined) return found
      const meant = nearest(name, known.keys())
      throw new TurnbellError('kind_unknown', {
        detail: `There is no kind ${JSON.stringify(name)}. There are: ${[...known.keys()].join(', ')}.`,
        ...(meant === null ? {} : { hint: `Did you mean ${meant}?` }),
      })
    },
  }
}

function derived(kind: RecordKind): KnownKind {
  const { name, status } = kind
  const refuse = (why: string): never => {
    throw new Error(`the kind ${name} cannot be: ${why}`)
  }
  if (!KindName.safeParse(name).success || TAKEN.includes(name)) refuse('no kind may have this name')
  const names = [...Object.keys(kind.fields.shape), ...Object.keys(closingFields(kind))]
  for (const field of names) {
    if (RESERVED.has(field)) refuse(`its field ${field} means something else in every record or query`)
    if (field === 'project_id' && kind.keeper === 'project') refuse('project_id is told by where a record is')
  }
  if (new Set(names).size < names.length) refuse('a field of its closing is a field of its own as well')
  for (const field of kind.unique ?? []) {
    if (!(field in kind.fields.shape)) refuse(`${field}, by which it should be unique, is no field of it`)
  }

  const statuses = statusesOf(kind)
  const wrong = statuses.find((one) => !RecordStatus.safeParse(one).success)
  if (wrong !== undefined) refuse(`${wrong} is no name for a status`)
  if (status?.closing !== undefined && !statusesBefore(status, status.closing.to).length) {
    refuse(`nothing leads to ${status.closing.to}, which should close it`)
  }

  // Made when somebody first needs one: for all kinds together they take longer than the rest of a hub's start.
  let input: z.ZodObject | undefined
  let own: z.ZodObject | undefined
  let stored: z.ZodObject | undefined
  return {
    ...{ kind, statuses },
    get input() {
      return (input ??= recordInput(kind))
    },
    get own() {
      return (own ??= ownFields(kind))
    },
    get stored() {
      return (stored ??= storedRecord(kind))
    },
  }
}

/** From where a status can be reached in one move. */
export function statusesBefore({ moves }: StatusRules, status: string): string[] {
  return Object.keys(moves).filter((from) => moves[from]?.includes(status))
}
