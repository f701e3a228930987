/** What is told of a request, with no secret in it: each is replaced by its name, in the ways in which servers spell it. */
import { TurnbellError } from '../../../contracts/errors.ts'

/** By the names of their variables. */
export type Secrets = ReadonlyMap<string, string>

/** Where the text was cut, the beginning of a secret at its end goes, too. */
export function without(secrets: Secrets, text: string, cut = false): string {
  const all = spellings(secrets)
  let clean = text
  for (const [spelled, name] of all) clean = clean.replaceAll(spelled, `[${name}]`)
  if (!cut) return clean
  return clean.slice(0, clean.length - Math.max(0, ...all.map(([spelled]) => begunAtTheEnd(clean, spelled))))
}

/** How much of a secret the text ends with. */
function begunAtTheEnd(text: string, secret: string): number {
  let length = secret.length - 1
  while (length > 0 && !text.endsWith(secret.slice(0, length))) length -= 1
  return length
}

/** An error is told by what it is of: an address, which a redirect may have made of a secret. */
export function errorWithout(secrets: Secrets, error: unknown): unknown {
  if (secrets.size === 0 || !(error instanceof Error)) return error
  // Without its cause, which says the same once more.
  if (error instanceof TurnbellError) {
    const [detail, hint] = [saidWithout(secrets, error.detail), saidWithout(secrets, error.hint)]
    return new TurnbellError(error.code, { detail, hint })
  }
  const clean = new Error(without(secrets, error.message))
  clean.stack = without(secrets, error.stack ?? '')
  return clean
}

/** What is too long to be repeated ends in the middle of the sentence. */
function saidWithout(secrets: Secrets, text: string): string {
  const parts = text.split('…')
  return parts.map((part, at) => without(secrets, part, at < parts.length - 1)).join('…')
}

type Spelling = [spelled: string, name: string]

/** JSON asks for each of its texts. */
const spelled_before = new WeakMap<Secrets, Spelling[]>()

function spellings(secrets: Secrets): Spelling[] {
  const known = spelled_before.get(secrets) ?? spell(secrets)
  spelled_before.set(secrets, known)
  return known
}

/** Longest first: one spelling may be a part of another. */
function spell(secrets: Secrets): Spelling[] {
  const all = [...secrets].flatMap(([name, secret]) => {
    const encoded = [
      ...[addressed(secret), encodeURIComponent(secret.toWellFormed())],
      ...[asInForms(secret), asInForms(secret).replaceAll('+', '%20')],
    ]
    // Escapes have no case, and neither have the names of hosts.
    const either = [secret, ...encoded].flatMap((one) => [
      ...[one, one.toLowerCase()],
      one.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    ])
    const spelled = new Set([...either, ...inJson(secret)])
    return [...spelled].map((one): Spelling => [one, name])
  })
  return all.filter(([spelled]) => spelled !== '').sort(([a], [b]) => b.length - a.length)
}

/** What some escape in JSON and others do not: signs, markup as Go and as Gson do, what is no ASCII, or nothing. */
const ESCAPED = [
  /[^\u0000-\u007f]|[+&'<>`]|\\"/g,
  /[&<>\u2028\u2029]/g,
  /[&'<=>\u2028\u2029]/g,
  /[^\u0000-\u007f]/g,
  /(?!)/g,
]

function inJson(secret: string): string[] {
  const plain = JSON.stringify(secret).slice(1, -1)
  // Only an escaped quote has two, of which the last counts.
  const hex = (unit: string) =>
    unit
      .charCodeAt(unit.length - 1)
      .toString(16)
      .padStart(4, '0')
  return [plain, plain.replaceAll('/', '\\/')].flatMap((one) =>
    ESCAPED.flatMap((set) => [
      one.replaceAll(set, (unit) => `\\u${hex(unit)}`),
      one.replaceAll(set, (unit) => `\\u${hex(unit).toUpperCase()}`),
    ]),
  )
}

/** As the path of an address says it. */
function addressed(secret: string): string {
  const url = new URL('http://host/')
  url.pathname = secret
  return url.pathname.slice(1)
}

function asInForms(secret: string): string {
  return new URLSearchParams([['', secret]]).toString().slice(1)
}
