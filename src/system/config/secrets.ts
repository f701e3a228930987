/** The two secrets of a home, created at the first start with mode 0600. */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { syncDirectoryNow } from '../files/durable-directory.ts'
import type { Home } from './home.ts'
import { shellWord } from '../process/shell-word.ts'

export interface Secrets {
  operator_token: string
  signing_key: string
}

/** 32 bytes in hex. A shorter key could be guessed, and with it every token. */
const SIGNING_KEY_LENGTH = 64
/** Half the length of a generated one. */
const OPERATOR_TOKEN_LENGTH_MIN = 16

/** Reads both secrets and creates missing ones. Processes that start at the same time get the same values. */
export function ensureSecrets(home: Home): Secrets {
  const operator_token = ensureSecret(
    home.operator_token,
    () => `tbop_${randomBytes(32).toString('base64url')}`,
  )
  checkLength(home.operator_token, operator_token, OPERATOR_TOKEN_LENGTH_MIN)
  return {
    operator_token,
    signing_key: ensureSecret(home.signing_key, () => randomBytes(32).toString('hex'), SIGNING_KEY_LENGTH),
  }
}

/** Returns null if the home has none yet. */
export function readOperatorToken(home: Home): string | null {
  return readSecret(home.operator_token)
}

/** Reads the existing secrets. @throws `home_not_permitted` for one that others can read, or that is too short. */
export function readSecrets(home: Home): { [secret in keyof Secrets]: string | null } {
  return {
    operator_token: readSecret(home.operator_token),
    signing_key: readSecret(home.signing_key, SIGNING_KEY_LENGTH),
  }
}

function ensureSecret(file: string, make: () => string, length_min = 1): string {
  // Written to a temporary file and linked: a link never replaces, so the first one wins, and a partial secret is never
  // visible.
  const existing = readSecret(file, length_min)
  if (existing !== null) return existing
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    fs.writeFileSync(draft, `${make()}\n`, { mode: 0o600, flush: true })
    fs.linkSync(draft, file)
    // Tokens signed with it are already distributed, so it must survive a crash of the machine.
    syncDirectoryNow(path.dirname(file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    fs.rmSync(draft, { force: true })
  }
  const value = readSecret(file)
  if (value === null) throw new TurnbellError('home_not_permitted', { detail: `${file} cannot be read` })
  return value
}

function readSecret(file: string, length_min = 1): string | null {
  let text: string
  try {
    const stat = fs.statSync(file, { throwIfNoEntry: false })
    if (stat === undefined && fs.lstatSync(file, { throwIfNoEntry: false }) === undefined) return null
    if (stat?.isFile() !== true) {
      throw new TurnbellError('home_not_permitted', {
        detail: `${file} is not a regular file`,
        hint: `Move it away, \`mv ${shellWord(file)} ${shellWord(`${file}.old`)}\`, and restore it from a backup; or restart the hub, which creates a new one.`,
      })
    }
    const mode = stat.mode & 0o777
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new TurnbellError('home_not_permitted', {
        detail: `${file} has mode ${mode.toString(8)}; others could read it`,
        hint: `chmod 600 ${shellWord(file)}`,
      })
    }
    text = fs.readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    throw new TurnbellError('home_not_permitted', {
      detail: `${file} cannot be read (${code})`,
      hint: `Become the owner of the file and its directory, then chmod 700 ${shellWord(path.dirname(file))}; chmod 600 ${shellWord(file)}`,
      cause: error,
    })
  }
  checkLength(file, text, length_min)
  return text
}

function checkLength(file: string, text: string, length_min: number): void {
  if (text.length >= length_min) return
  const problem = text === '' ? 'is empty' : `has ${text.length} of at least ${length_min} characters`
  throw new TurnbellError('home_not_permitted', {
    detail: `${file} ${problem}`,
    hint: `Restore it from a backup; or \`rm ${shellWord(file)}\` and restart the hub, which creates a new one. Tokens signed by the old one become invalid.`,
  })
}
