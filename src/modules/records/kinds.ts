/** The declared kinds of records. Throws for an inconsistent declaration, which is a bug in turnbell. */
import type { z } from 'zod'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { nearest } from '../../contracts/text/names.ts'
import {
  closingFields,
  ownFields,
  recordInput,
  statusesOf,
  storedRecord,
} from '../../contracts/memory/record-schemas.ts'
import {
  FILTER_WORDS,
  KeptRecord,
  KindName,
  PAGE_FIELDS,
  RecordStatus,
  type RecordKind,
  type StatusRules,
} from '../../contracts/memory/records.ts'

/** A kind with the schemas derived from its declaration; see `record-schemas.ts`. */
export interface KnownKind {
  kind: RecordKind
  /** All statuses, the initial one first; empty for a kind without status. */
  statuses: readonly string[]
  /** Schema of `record` in a put. */
  input: z.ZodObject
  /** Schema of the kind's own fields, including those of its closing. */
  own: z.ZodObject
  /** Schema of a stored record. */
  stored: z.ZodObject
}

export interface Kinds {
  /** In the order of declaration. */
  list(): readonly KnownKind[]
  /** Throws `kind_unknown` with the known kinds and the nearest name. */
  get(name: string): KnownKind
}

/** Kinds that the hub stores itself in the same store. */
const RESERVED_KINDS: readonly string[] = ['persona', 'project', 'rejected', 'routine_report']
/** Parameters of a query; a field with one of these names could not be filtered. */
const QUERY_WORDS = [...Object.keys(PAGE_FIELDS), ...Object.keys(FILTER_WORDS), 'filter']
/** `text` is allowed, because that filter searches every field, including this one. */
const RESERVED_FIELDS = new Set(
  [...Object.keys(KeptRecord.shape), ...QUERY_WORDS].filter((word) => word !== 'text'),
)

export function createKinds(kinds: readonly RecordKind[]): Kinds {
  const known = new Map<string, KnownKind>()
  for (const kind of kinds) {
    if (known.has(kind.name)) throw new Error(`two kinds of records are called ${kind.name}`)
    known.set(kind.name, deriveKind(kind))
  }
  return {
    list: () => [...known.values()],
    get(name) {
      const found = known.get(name)
      if (found !== undefined) return found
      const similar = nearest(name, known.keys())
      throw new TurnbellError('kind_unknown', {
        detail: `There is no kind ${JSON.stringify(name)}. Known kinds: ${[...known.keys()].join(', ')}.`,
        ...(similar === null ? {} : { hint: `Did you mean ${similar}?` }),
      })
    },
  }
}

function deriveKind(kind: RecordKind): KnownKind {
  const { name, status } = kind
  const refuse = (why: string): never => {
    throw new Error(`invalid kind ${name}: ${why}`)
  }
  if (!KindName.safeParse(name).success || RESERVED_KINDS.includes(name)) refuse('the name is not allowed')
  const names = [...Object.keys(kind.fields.shape), ...Object.keys(closingFields(kind))]
  for (const field of names) {
    if (RESERVED_FIELDS.has(field)) refuse(`the field name ${field} is reserved`)
    if (field === 'project_id' && kind.keeper === 'project')
      refuse('project_id is derived from the location of a record')
  }
  if (new Set(names).size < names.length) refuse('a closing field has the name of another field')
  for (const field of kind.unique ?? []) {
    if (!(field in kind.fields.shape)) refuse(`unique field ${field} is not a field of the kind`)
  }

  const statuses = statusesOf(kind)
  const wrong = statuses.find((name) => !RecordStatus.safeParse(name).success)
  if (wrong !== undefined) refuse(`${wrong} is not a valid status`)
  if (status?.closing !== undefined && !statusesBefore(status, status.closing.to).length) {
    refuse(`no status leads to the closing status ${status.closing.to}`)
  }

  // Created on first use, because creating the schemas of all kinds takes longer than the rest of the hub's start.
  let input: z.ZodObject | undefined
  let own: z.ZodObject | undefined
  let stored: z.ZodObject | undefined
  return {
    kind,
    statuses,
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

/** Returns the statuses from which a status can be reached in one move. */
export function statusesBefore({ moves }: StatusRules, status: string): string[] {
  return Object.keys(moves).filter((from) => moves[from]?.includes(status))
}
