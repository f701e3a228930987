/** The content that a client needs in a file, in five forms, and how each form is written and removed. */
import * as z from 'zod'
import {
  Entry,
  holdsEntries,
  isHollowFile,
  putEntries,
  requireStrictJson,
  takeEntries,
} from './edit/jsonc.ts'
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
  SECTION,
} from './edit/marked-block.ts'
import { isHollowScript, putScript } from './script.ts'
import { Draft, Splice, unspliced } from './edit/text-edits.ts'
import { fileConflict } from './conflict-errors.ts'
import { isBlank } from './edit/text.ts'
import { hasTable, holdsTable, putTable, takeTable } from './edit/toml.ts'

export type DesiredFile =
  /**
   * `head` is written before the entries into a new file. `strict` names a client that reads plain JSON and skips a file
   * with comments.
   */
  | { form: 'jsonc'; file: string; entries: Entry[]; head?: Entry[]; strict?: string }
  | { form: 'toml'; file: string; at: [string, string]; body: string }
  | { form: 'markdown'; file: string; body: string }
  /** Lines of a shell script that is executable. */
  | { form: 'script'; file: string; body: string }
  /** A file of turnbell's own. */
  | { form: 'whole'; file: string; body: string }

const Path = z.array(z.string())

/** The written content, for the record. `splices` undo it exactly; the other fields find it again after edits. */
export const Written = z.strictObject({
  form: z.enum(['jsonc', 'toml', 'markdown', 'script', 'whole']),
  splices: z.array(Splice),
  own: z.array(Entry).default([]),
  made: z.array(Path).default([]),
  at: Path.default([]),
})
export type Written = z.infer<typeof Written>

/** Throws `config_invalid` and `connection_taken`. */
export function put(desired: DesiredFile, text: string): { text: string; written: Written } {
  const { form, file } = desired
  const empty = { form, own: [], made: [], at: [] }
  switch (form) {
    case 'jsonc': {
      requireStrict(desired, text)
      const {
        own,
        made,
        splices,
        text: after,
      } = putEntries(
        file,
        text,
        isBlank(text) ? [...(desired.head ?? []), ...desired.entries] : desired.entries,
      )
      return { text: after, written: { ...empty, own, made, splices } }
    }
    case 'toml': {
      const draft = putTable(file, text, desired)
      return { text: draft.text, written: { ...empty, at: desired.at, splices: draft.splices } }
    }
    case 'markdown': {
      let whole = text
      // Repeated, because a second block would be found only after the first is removed.
      while (blockIn(file, whole, MARKDOWN_MARKS) !== null) whole = withoutBlock(file, whole, MARKDOWN_MARKS)
      const draft = putBlock(whole, MARKDOWN_MARKS, desired.body)
      return { text: draft.text, written: { ...empty, splices: draft.splices } }
    }
    case 'script': {
      const draft = putScript(file, text, desired.body)
      return { text: draft.text, written: { ...empty, splices: draft.splices } }
    }
    case 'whole': {
      if (!isBlank(text)) throw fileConflict(file)
      const draft = new Draft(text)
      draft.cut(0, text.length, desired.body)
      return { text: draft.text, written: { ...empty, splices: draft.splices } }
    }
  }
}

function requireStrict({ file, strict }: Extract<DesiredFile, { form: 'jsonc' }>, text: string): void {
  if (strict !== undefined && !isBlank(text)) requireStrictJson(file, text, strict)
}

/** Returns true if the file already contains the content. */
export function holds(desired: DesiredFile, text: string): boolean {
  switch (desired.form) {
    case 'jsonc':
      requireStrict(desired, text)
      return holdsEntries(desired.file, text, desired.entries)
    case 'toml':
      return holdsTable(desired.file, text, desired)
    case 'markdown':
      return (
        isMarked(text, MARKDOWN_MARKS) &&
        blockIn(desired.file, text, MARKDOWN_MARKS) === desired.body.trimEnd()
      )
    case 'script':
      return isMarked(text, HASH_MARKS) && blockIn(desired.file, text, HASH_MARKS) === desired.body.trimEnd()
    case 'whole':
      return text === desired.body
  }
}

/**
 * Returns the text without the written content. `untouched` means that the text was not edited since. A file of
 * turnbell's own that was edited stays as it is.
 */
export function take(file: string, text: string, written: Written, untouched: boolean): string {
  // The content existed before and was not written by this connection.
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

/** The line of a script that calls turnbell, also after edits. */
const CALL = /^.*turnbell.* hook post-commit.*$/m
/** The active part of an entry of turnbell. */
const ACTS =
  /turnbell(?:\.[cm]?js)?['\\" ]+hook |adapters\/opencode\/plugin\.js|"turnbell@turnbell"\s*:\s*true/

/** Returns an active entry that remains after the removal, because its lines were edited or its marks were deleted. */
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

/** Returns the lines between the marks, as they were written. */
function bodyOf({ splices }: Written, { open, close }: Marks): string {
  const inserted = splices
    .map((splice) => splice.inserted)
    .join('')
    .replaceAll('\r\n', '\n')
  return inserted.split(`${open}\n`)[1]?.split(`${close}\n`)[0] ?? ''
}

/** Returns true if the file has no content of the person. */
export function isHollow(file: string, text: string, { form }: Written): boolean {
  if (form === 'script') return isHollowScript(text)
  return isBlank(text) || (form === 'jsonc' && isHollowFile(file, text))
}
