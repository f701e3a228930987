/** Descriptions of single actions, with everything a caller needs. */
import * as z from 'zod'
import type { ActionLine, Facade, Found } from './define.ts'
import type { Registry } from './registry.ts'
import { jsonSchema } from './schema.ts'
import { ERRORS } from '../contracts/errors/error-catalogue.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { Json } from '../contracts/ids.ts'
import { nearest } from '../contracts/text/names.ts'
import { recordInput } from '../contracts/memory/record-schemas.ts'
import type { RecordKind } from '../contracts/memory/records.ts'

type Described = { [key: string]: Json }

export function actionLine({ facade, name, action }: Found): ActionLine {
  return { name: `${facade.name}_${name}`, summary: action.summary, mutates: action.mutates }
}

export function describeFacade({ name, summary, facet }: Facade, actions: readonly Found[]): Described {
  return { name, summary, facet, actions: actions.map((found) => ({ ...actionLine(found) })) }
}

export function describeAction(found: Found): Described {
  const { facade, name, action } = found
  const { idempotent, destructive, errors, examples = [] } = action
  return {
    ...actionLine(found),
    facade: facade.name,
    action: name,
    facet: facade.facet,
    ...(idempotent === true ? { idempotent } : {}),
    ...(destructive === true ? { destructive } : {}),
    allow: [...action.allow],
    input_schema: jsonSchema(action.input, 'input') as Described,
    output_schema: jsonSchema(action.output, 'output') as Described,
    examples: examples.map((example) => example as Json),
    errors: errors.map((code) => ({ code, title: ERRORS[code].title, hint: ERRORS[code].hint })),
  }
}

/** Returns whether an action takes records of any kind. */
export function takesAnyKind({ action }: Found): boolean {
  const { properties = {} } = jsonSchema(action.input, 'input') as { properties?: object }
  return 'kind' in properties
}

/** Returns a line for each kind, or the description of one kind. Throws `kind_unknown` with the known kinds. */
export function describeRecords(registry: Registry, found: Found, wanted: string | undefined): Described {
  const kinds = takesAnyKind(found) ? registry.kinds : []
  if (wanted === undefined) {
    return kinds.length === 0 ? {} : { kinds: kinds.map(({ name, summary }) => ({ name, summary })) }
  }
  const kind = kinds.find(({ name }) => name === wanted)
  if (kind !== undefined) return { record: describeKind(kind) }
  const names = kinds.map(({ name }) => name)
  const similar = nearest(wanted, names)
  throw new TurnbellError('kind_unknown', {
    detail: `${found.facade.name}_${found.name} has no kind ${JSON.stringify(wanted)}. Known kinds: ${names.join(', ') || 'none'}.`,
    ...(similar === null ? {} : { hint: `Did you mean ${similar}?` }),
  })
}

function describeKind(kind: RecordKind): Described {
  const { name, summary, status, examples = [] } = kind
  const closing = status?.closing
  return {
    ...{ kind: name, summary, kept_in: kind.keeper },
    ...(kind.changed_by === undefined ? {} : { changed_by: kind.changed_by }),
    ...(kind.unique === undefined ? {} : { unique: [...kind.unique] }),
    schema: jsonSchema(recordInput(kind), 'input') as Described,
    ...(status === undefined
      ? {}
      : { status: { initial: status.initial, moves: { ...status.moves } as Described } }),
    ...(closing === undefined
      ? {}
      : {
          closing: {
            to: closing.to,
            schema: jsonSchema(z.strictObject({ ...closing.fields }), 'input') as Described,
          },
        }),
    examples: [...examples],
  }
}
