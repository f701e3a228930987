/** What is wrong with a call's parameters, as a sentence that names field, found and allowed. */
import * as z from 'zod'
import { nearest } from './names.ts'

type Issue = z.core.$ZodIssue

const ISSUES_MAX = 5
const FOUND_LENGTH_MAX = 60

/**
 * `to: expected an identity matching …, found "Bob"; unknown field "prio" (did you mean priority?)`. `root` names the
 * whole of it.
 */
export function describeParams(
  schema: z.ZodType,
  params: unknown,
  error: z.ZodError,
  root = 'params',
): string {
  const said = error.issues.slice(0, ISSUES_MAX).map((issue) => sentence(schema, params, issue, root))
  const more = error.issues.length - said.length
  return said.join('; ') + (more > 0 ? `; and ${more} more` : '')
}

function sentence(schema: z.ZodType, params: unknown, issue: Issue, root: string): string {
  const field = issue.path.map(String).join('.') || root
  const [misnamed] = issue.code === 'invalid_key' ? issue.issues : []
  if (misnamed !== undefined)
    return `${field}: ${wanted(misnamed)}, found the name ${shortened(issue.path.at(-1))}`
  if (issue.code === 'unrecognized_keys') return unknownKeys(schema, issue)
  const meant = issue.code === 'invalid_union' ? formMeant(issue) : null
  if (meant !== null) return meant.map((one) => sentence(schema, params, one, root)).join('; ')
  // What came in somebody's secret's place may be one.
  const unsaid = issue.code === 'custom' && issue.params?.['unsaid'] === true
  const told = unsaid ? 'something that is not repeated here' : found(params, issue.path)
  return `${field}: ${wanted(issue)}, found ${told}`
}

function unknownKeys(schema: z.ZodType, issue: z.core.$ZodIssueUnrecognizedKeys): string {
  const keys = issue.keys.slice(0, ISSUES_MAX).map((key) => shortened(key))
  const object = schemaAt(schema, issue.path)
  const fields = object instanceof z.ZodObject ? Object.keys(object.shape) : []
  const meant = keys.length === 1 && issue.keys[0] !== undefined ? nearest(issue.keys[0], fields) : null
  const where = issue.path.length === 0 ? '' : ` in ${issue.path.map(String).join('.')}`
  const none = object instanceof z.ZodObject ? '; there are none' : ''
  const allowed = fields.length === 0 ? none : `; allowed: ${fields.join(', ')}`
  const guess = meant === null ? '' : ` (did you mean ${meant}?)`
  return `unknown field ${keys.join(', ')}${where}${guess}${allowed}`
}

/** Where a path leads in a schema; undefined where that cannot be told without the value. */
function schemaAt(schema: unknown, path: readonly PropertyKey[]): unknown {
  const wraps = [z.ZodOptional, z.ZodNullable, z.ZodDefault].find((wrap) => schema instanceof wrap)
  if (wraps !== undefined) return schemaAt((schema as z.ZodOptional).unwrap(), path)
  const [key, ...rest] = path
  if (key === undefined) return schema
  if (schema instanceof z.ZodObject) return schemaAt(schema.shape[key as string], rest)
  if (schema instanceof z.ZodArray) return schemaAt(schema.element, rest)
  if (schema instanceof z.ZodRecord) return schemaAt(schema.valueType, rest)
  // Forms that share a field's name would leave open which of them was meant.
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return undefined
  const found = schema.options.map((form) => schemaAt(form, path)).filter((one) => one !== undefined)
  return found.length === 1 ? found[0] : undefined
}

/** Our own patterns and rules say in a sentence what a thing is; all else is only named. */
function wanted(issue: Issue): string {
  const said = expectation(issue)
  const ours = issue.code === 'invalid_format' || issue.code === 'custom'
  return ours && /^expected\b|\b(is|are|has|begins|does|must|may)\b/.test(said) ? said : `expected ${said}`
}

/** What zod calls otherwise than JSON does. */
const TYPES: Record<string, string> = { int: 'integer', record: 'object' }
const FORMS_MAX = 5

function expectation(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? issue.expected
    case 'invalid_value':
      return (issue.values.length === 1 ? '' : 'one of ') + issue.values.map(String).join(', ')
    case 'too_small':
      return `${issue.origin} of at least ${issue.minimum}${unit(issue.origin)}`
    case 'too_big':
      return `${issue.origin} of at most ${issue.maximum}${unit(issue.origin)}`
    case 'invalid_format':
      // Our own patterns carry a sentence; zod's begin with "Invalid".
      return issue.message.startsWith('Invalid') ? issue.format : issue.message
    case 'invalid_union': {
      const forms = issue.errors.flatMap(([first]) => (first === undefined ? [] : [formOf(first)]))
      return forms.length === 0
        ? 'one of the allowed forms'
        : [...new Set(forms)].slice(0, FORMS_MAX).join(' or ')
    }
    default:
      return issue.message
  }
}

/**
 * What is wrong with the one form of a union that was meant: that in which only fields are missing or too many, while
 * all others differ in a value or in kind. Null if that is none, or more than one.
 */
function formMeant(issue: z.core.$ZodIssueInvalidUnion): Issue[] | null {
  const likely = issue.errors.filter((errors) => errors.length > 0 && errors.every(isOnlyOfFields))
  const [one, ...others] = likely
  if (one === undefined || others.length > 0) return null
  return one.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
}

function isOnlyOfFields({ code, path }: Issue): boolean {
  return code === 'unrecognized_keys' || (code === 'invalid_type' && path.length > 0)
}

/** One form of several: what it is, and where in it something else stands. */
function formOf(issue: Issue): string {
  const within = issue.path.length === 0 ? '' : ` in ${issue.path.map(String).join('.')}`
  if (issue.code === 'unrecognized_keys') return `no ${issue.keys.slice(0, ISSUES_MAX).join(', ')}${within}`
  return expectation(issue) + within
}

function unit(origin: string): string {
  if (origin === 'string') return ' characters'
  return origin === 'array' ? ' entries' : ''
}

function found(params: unknown, path: readonly PropertyKey[]): string {
  let value: unknown = params
  for (const key of path) {
    value =
      value !== null && typeof value === 'object' ? (value as Record<PropertyKey, unknown>)[key] : undefined
  }
  return value === undefined ? 'nothing' : shortened(value)
}

function shortened(value: unknown): string {
  const text = written(value)
  return text.length > FOUND_LENGTH_MAX ? `${text.slice(0, FOUND_LENGTH_MAX)}…` : text
}

/** Not everything that is judged came as JSON: what a module exports may be a function, or hold itself. */
function written(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value
  } catch {
    return typeof value
  }
}
