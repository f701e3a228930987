/** What a client needs in one file, in the five forms that such files have, and how each form is written. */
import * as z from 'zod'
import { Entry, holdsEntries, isHollowFile, putEntries, requireStrictJson, takeEntries } from './jsonc.ts'
import {
  blockIn,
  HASH_MARKS,
  lineOf,
  MARKDOWN_MARKS,
  putBlock,
  withoutBlock,
  withoutBody,
  withoutSection,
  type Marks,
} from './marked-block.ts'
import { SECTION } from './section.ts'
import { isHollowScript, putScript } from './script.ts'
import { Draft, Splice, unspliced } from './splices.ts'
import { isTakenFile } from './taken.ts'
import { isBlank } from './text.ts'
import { hasTable, holdsTable, putTable, takeTable } from './toml.ts'

export type Wanted =
  /** `head` stands in front of the entries where there was no such file. */
  /** `strict` is the client that reads the file as JSON without comments, and skips a file that is not. */
  | { form: 'jsonc'; file: string; entries: Entry[]; head?: Entry[]; strict?: string }
  | { form: 'toml'; file: string; at: [string, string]; body: string }
  | { form: 'markdown'; file: string; body: string }
  /** Lines of a shell script that is executable. */
  | { form: 'script'; file: string; body: string }
  /** A file that is turnbell's alone. */
  | { form: 'whole'; file: string; body: string }

const Path = z.array(z.string())

/** What was written, as the record keeps it. `splices` undo it exactly; the rest finds it again after edits. */
export const Written = z.strictObject({
  form: z.enum(['jsonc', 'toml', 'markdown', 'script', 'whole']),
  splices: z.array(Splice),
  own: z.array(Entry).default([]),
  made: z.array(Path).default([]),
  at: Path.default([]),
})
export type Written = z.infer<typeof Written>

/** @throws `config_invalid`, `connection_taken` */
export function put(wanted: Wanted, text: string): { text: string; written: Written } {
  const { form, file } = wanted
  const kept = { form, own: [], made: [], at: [] }
  switch (form) {
    case 'jsonc': {
      needStrict(wanted, text)
      const {
        own,
        made,
        splices,
        text: after,
      } = putEntries(file, text, isBlank(text) ? [...(wanted.head ?? []), ...wanted.entries] : wanted.entries)
      return { text: after, written: { ...kept, own, made, splices } }
    }
    case 'toml': {
      const draft = putTable(file, text, wanted)
      return { text: draft.text, written: { ...kept, at: wanted.at, splices: draft.splices } }
    }
    case 'markdown': {
      let whole = text
      // Looked at again without it: half of another one would be taken for the beginning of ours.
      while (blockIn(file, whole, MARKDOWN_MARKS) !== null) whole = withoutBlock(file, whole, MARKDOWN_MARKS)
      const draft = putBlock(whole, MARKDOWN_MARKS, wanted.body)
      return { text: draft.text, written: { ...kept, splices: draft.splices } }
    }
    case 'script': {
      const draft = putScript(file, text, wanted.body)
      return { text: draft.text, written: { ...kept, splices: draft.splices } }
    }
    case 'whole': {
      if (!isBlank(text)) throw isTakenFile(file)
      const draft = new Draft(text)
      draft.cut(0, text.length, wanted.body)
      return { text: draft.text, written: { ...kept, splices: draft.splices } }
    }
  }
}

function needStrict({ file, strict }: Extract<Wanted, { form: 'jsonc' }>, text: string): void {
  if (strict !== undefined && !isBlank(text)) requireStrictJson(file, text, strict)
}

/** True where the file says already what is wanted, whoever wrote it. */
export function holds(wanted: Wanted, text: string): boolean {
  switch (wanted.form) {
    case 'jsonc':
      needStrict(wanted, text)
      return holdsEntries(wanted.file, text, wanted.entries)
    case 'toml':
      return holdsTable(wanted.file, text, wanted)
    case 'markdown':
      return (
        isMarked(text, MARKDOWN_MARKS) && blockIn(wanted.file, text, MARKDOWN_MARKS) === wanted.body.trimEnd()
      )
    case 'script':
      return isMarked(text, HASH_MARKS) && blockIn(wanted.file, text, HASH_MARKS) === wanted.body.trimEnd()
    case 'whole':
      return text === wanted.body
  }
}

/**
 * The text without what was written. `untouched`: nobody has changed it since. A file that is turnbell's
 * alone and was edited since is left as it is: the edits are a person's.
 */
export function take(file: string, text: string, written: Written, untouched: boolean): string {
  // Somebody else had written it already.
  if (written.splices.length === 0) return text
  if (untouched) return unspliced(text, written.splices)
  switch (written.form) {
    case 'jsonc':
      return takeEntries(file, text, written)
    case 'toml':
      return takeTable(file, text, written.at)
    case 'markdown': {
      if (isMarked(text, MARKDOWN_MARKS)) return withoutBlock(file, text, MARKDOWN_MARKS)
      return withoutSection(withoutBody(text, MARKDOWN_MARKS, bodyOf(written, MARKDOWN_MARKS)), SECTION)
    }
    case 'script':
      if (isMarked(text, HASH_MARKS)) return withoutBlock(file, text, HASH_MARKS)
      return withoutBody(text, HASH_MARKS, bodyOf(written, HASH_MARKS))
    case 'whole':
      return text
  }
}

/** The line of a script that calls turnbell, also as somebody has changed it. */
const CALL = /^.*turnbell.* hook post-commit.*$/m
/** What of an entry of ours acts, wherever it is by now. */
const ACTS =
  /turnbell(?:\.[cm]?js)?['\\" ]+hook |adapters\/opencode\/plugin\.js|"turnbell@turnbell"\s*:\s*true/

/** What still acts of what was written, once it was taken out: lines that were edited or marks that were removed. */
export function leftOf(file: string, text: string, written: Written): string | null {
  if (written.splices.length === 0) return null
  switch (written.form) {
    case 'jsonc':
      return ACTS.exec(text)?.[0] ?? null
    case 'toml':
      return hasTable(file, text, written.at) ? `[${written.at.join('.')}]` : null
    case 'markdown':
      return lineOf(text, SECTION, 0) === null ? null : SECTION
    case 'script':
      return CALL.exec(text)?.[0] ?? null
    case 'whole':
      return null
  }
}

const isMarked = (text: string, marks: Marks) =>
  [marks.open, marks.close].every((mark) => lineOf(text, mark, 0) !== null)

/** The lines between the marks, as they were written. */
function bodyOf({ splices }: Written, { open, close }: Marks): string {
  const inserted = splices
    .map((splice) => splice.inserted)
    .join('')
    .replaceAll('\r\n', '\n')
  return inserted.split(`${open}\n`)[1]?.split(`${close}\n`)[0] ?? ''
}

/** Nothing of a person's is left in it. */
export function isHollow(file: string, text: string, { form }: Written): boolean {
  if (form === 'script') return isHollowScript(text)
  return isBlank(text) || (form === 'jsonc' && isHollowFile(file, text))
}
