/** Descriptions of invalid parameters with field, value and allowed values. */
import * as z from 'zod'
import { nearest } from '../text/names.ts'

type Issue = z.core.$ZodIssue

const ISSUES_MAX = 5
const FOUND_LENGTH_MAX = 60

/**
 * Returns `to: expected an identity matching …, found "Bob"; unknown field "prio" (did you mean priority?)`. `root` is
 * the name of the whole value.
 */
export function describeParams(
  schema: z.ZodType,
  params: unknown,
  error: z.ZodError,
  root = 'params',
): string {
  const sentences = error.issues.slice(0, ISSUES_MAX).map((issue) => sentence(schema, params, issue, root))
  const more = error.issues.length - sentences.length
  return sentences.join('; ') + (more > 0 ? `; and ${more} more` : '')
}

function sentence(schema: z.ZodType, params: unknown, issue: Issue, root: string): string {
  const field = issue.path.map(String).join('.') || root
  const [misnamed] = issue.code === 'invalid_key' ? issue.issues : []
  if (misnamed !== undefined)
    return `${field}: ${expectedText(misnamed)}, found the name ${truncatedText(issue.path.at(-1))}`
  if (issue.code === 'unrecognized_keys') return unknownKeys(schema, issue)
  const member = issue.code === 'invalid_union' ? intendedMember(issue) : null
  if (member !== null) return member.map((one) => sentence(schema, params, one, root)).join('; ')
  // A rejected value at the place of a secret may be the secret.
  const redacted = issue.code === 'custom' && issue.params?.['redacted'] === true
  const value = redacted ? 'a value that is not repeated here' : valueAt(params, issue.path)
  return `${field}: ${expectedText(issue)}, found ${value}`
}

function unknownKeys(schema: z.ZodType, issue: z.core.$ZodIssueUnrecognizedKeys): string {
  const keys = issue.keys.slice(0, ISSUES_MAX).map((key) => truncatedText(key))
  const object = schemaAt(schema, issue.path)
  const fields = object instanceof z.ZodObject ? Object.keys(object.shape) : []
  const similar = keys.length === 1 && issue.keys[0] !== undefined ? nearest(issue.keys[0], fields) : null
  const where = issue.path.length === 0 ? '' : ` in ${issue.path.map(String).join('.')}`
  const none = object instanceof z.ZodObject ? '; there are none' : ''
  const allowed = fields.length === 0 ? none : `; allowed: ${fields.join(', ')}`
  const suggestion = similar === null ? '' : ` (did you mean ${similar}?)`
  return `unknown field ${keys.join(', ')}${where}${suggestion}${allowed}`
}

/** Returns the schema at a path, or undefined if it depends on the value. */
function schemaAt(schema: unknown, path: readonly PropertyKey[]): unknown {
  const wraps = [z.ZodOptional, z.ZodNullable, z.ZodDefault].find((wrap) => schema instanceof wrap)
  if (wraps !== undefined) return schemaAt((schema as z.ZodOptional).unwrap(), path)
  const [key, ...rest] = path
  if (key === undefined) return schema
  if (schema instanceof z.ZodObject) return schemaAt(schema.shape[key as string], rest)
  if (schema instanceof z.ZodArray) return schemaAt(schema.element, rest)
  if (schema instanceof z.ZodRecord) return schemaAt(schema.valueType, rest)
  // In other unions several members may have a field of that name.
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return undefined
  const members = schema.options.map((form) => schemaAt(form, path)).filter((one) => one !== undefined)
  return members.length === 1 ? members[0] : undefined
}

/** turnbell's own patterns and rules have a descriptive message; for others the type is returned. */
function expectedText(issue: Issue): string {
  const text = expectation(issue)
  const ours = issue.code === 'invalid_format' || issue.code === 'custom'
  return ours && /^expected\b|\b(is|are|has|begins|does|must|may)\b/.test(text) ? text : `expected ${text}`
}

/** Names that differ between zod and JSON Schema. */
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
      // turnbell's own patterns have a message; those of zod start with "Invalid".
      return issue.message.startsWith('Invalid') ? issue.format : issue.message
    case 'invalid_union': {
      const forms = issue.errors.flatMap(([first]) => (first === undefined ? [] : [describeMember(first)]))
      return forms.length === 0
        ? 'one of the allowed forms'
        : [...new Set(forms)].slice(0, FORMS_MAX).join(' or ')
    }
    default:
      return issue.message
  }
}

/**
 * Returns the issues of the intended member of a union: the only one with just missing or unknown fields, while the
 * others differ in a value or in type. Returns null if there is none, or more than one.
 */
function intendedMember(issue: z.core.$ZodIssueInvalidUnion): Issue[] | null {
  const likely = issue.errors.filter((errors) => errors.length > 0 && errors.every(isFieldMismatch))
  const [one, ...others] = likely
  if (one === undefined || others.length > 0) return null
  return one.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
}

function isFieldMismatch({ code, path }: Issue): boolean {
  return code === 'unrecognized_keys' || (code === 'invalid_type' && path.length > 0)
}

/** Describes one member of a union and the position of the mismatch. */
function describeMember(issue: Issue): string {
  const within = issue.path.length === 0 ? '' : ` in ${issue.path.map(String).join('.')}`
  if (issue.code === 'unrecognized_keys') return `no ${issue.keys.slice(0, ISSUES_MAX).join(', ')}${within}`
  return expectation(issue) + within
}

function unit(origin: string): string {
  if (origin === 'string') return ' characters'
  return origin === 'array' ? ' entries' : ''
}

function valueAt(params: unknown, path: readonly PropertyKey[]): string {
  let value: unknown = params
  for (const key of path) {
    value =
      value !== null && typeof value === 'object' ? (value as Record<PropertyKey, unknown>)[key] : undefined
  }
  return value === undefined ? 'nothing' : truncatedText(value)
}

function truncatedText(value: unknown): string {
  const text = toText(value)
  return text.length > FOUND_LENGTH_MAX ? `${text.slice(0, FOUND_LENGTH_MAX)}…` : text
}

/** The value may not be JSON: an export of a module may be a function, or contain itself. */
function toText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value
  } catch {
    return typeof value
  }
}
