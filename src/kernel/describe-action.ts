/** What a reader must know to call an action, shown one at a time instead of all of them in a list. */
import type { ActionLine, Facade, Found } from './define.ts'
import { jsonSchema } from './schema.ts'
import { ERRORS } from '../contracts/error-catalogue.ts'
import type { Json } from '../contracts/ids.ts'

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
