/** The two secrets of a home, made at first start, mode 0600. */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../contracts/turnbell-error.ts'
import { syncDirectoryNow } from './durable-directory.ts'
import type { Home } from './home.ts'
import { shellWord } from './shell-word.ts'

export interface Secrets {
  operator_token: string
  signing_key: string
}

/** Reads both, making what is missing. Two processes that start together agree on one value. */
export function ensureSecrets(home: Home): Secrets {
  return {
    operator_token: ensureSecret(home.operator_token, () => `tbop_${randomBytes(32).toString('base64url')}`),
    signing_key: ensureSecret(home.signing_key, () => randomBytes(32).toString('hex')),
  }
}

/** Null where the home has none yet. */
export function readOperatorToken(home: Home): string | null {
  return readSecret(home.operator_token)
}

/** Those that are there already. @throws `home_not_permitted` for one that others can read. */
export function readSecrets(home: Home): { [secret in keyof Secrets]: string | null } {
  return { operator_token: readSecret(home.operator_token), signing_key: readSecret(home.signing_key) }
}

function ensureSecret(file: string, make: () => string): string {
  // Written aside and linked: a link never replaces, so the first one wins and nobody reads half a secret.
  const existing = readSecret(file)
  if (existing !== null) return existing
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    fs.writeFileSync(draft, `${make()}\n`, { mode: 0o600, flush: true })
    fs.linkSync(draft, file)
    // What it signs is in the hands of others, and has to hold after a crash of the machine as well.
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

function readSecret(file: string): string | null {
  let text: string
  try {
    const mode = fs.statSync(file).mode & 0o777
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
      hint: `Make it and its directory yours: chmod 700 ${shellWord(path.dirname(file))}; chmod 600 ${shellWord(file)}`,
      cause: error,
    })
  }
  if (text === '')
    throw new TurnbellError('home_not_permitted', {
      detail: `${file} is empty`,
      hint: `Remove ${file}; it is made anew.`,
    })
  return text
}
