/** A service of a manager: the hub or one persona's daemon, and the file that describes it. */
import fs from 'node:fs'
import path from 'node:path'
import type { Invocation } from '../cli.ts'
import { startWords, type Starter } from '../start-words.ts'

export type Service = { kind: 'hub' } | { kind: 'persona'; identity: string }

export interface Unit {
  service: Service
  /** Name at the manager: `turnbell-daemon@ada.service`, `com.turnbell.hub`, `\turnbell\hub`. */
  name: string
  /** Path of the installed file. Several instances of one systemd template share a file. */
  file: string
  content: string
  /** The home as it is written in the content, by which a unit of another home is recognized. */
  home: string
}

export interface ServiceState {
  manager: string
  unit: string
  file: string
  installed: boolean
  /** Starts at the next login. */
  enabled: boolean
  /** The manager's own word, such as `active`, `failed` or `running`; `unknown` if it does not answer. */
  state: string
  pid: number | null
  last_exit: number | null
}

export interface ServiceManager {
  name: string
  unit(service: Service): Unit
  /** Encodes the content for the file on disk. */
  encode(content: string): Buffer
  decode(bytes: Buffer): string
  /** Loads the written file, and starts the service now and at every login. */
  enable(unit: Unit): Promise<void>
  /** Stops the service and removes it from the manager. A missing service is not an error. */
  disable(unit: Unit): Promise<void>
  /** Returns true if the service starts at login, according to its files. The manager need not answer. */
  isEnabled(unit: Unit): boolean
  /** Returns the other services that the same file describes. */
  sharers(unit: Unit): string[]
  /** Removes the remaining state after the files were removed. */
  forget(unit: Unit): Promise<void>
  state(unit: Unit): Promise<ServiceState>
}

/**
 * Returns the PATH of a service: that of the shell that installs it, because the short default PATH of a manager contains
 * no clients from npm or a version manager. Relative folders are left out.
 */
export function servicePath({ cli }: Invocation): string {
  // A unit is a line-based file, so a name with a line break is left out.
  const usable = (folder: string) => path.isAbsolute(folder) && !/\p{Cc}/u.test(folder)
  const folders = (cli.env['PATH'] ?? '').split(path.posix.delimiter).filter(usable)
  const own = path.isAbsolute(cli.node) ? [path.dirname(cli.node)] : []
  return [...new Set([...folders, ...own, '/usr/bin', '/bin'])].join(path.posix.delimiter)
}

/**
 * Returns the command that starts turnbell, beginning with an absolute path. Because neither systemd nor launchd looks up
 * a name in the PATH of its unit, a name is started by `env`.
 */
export function serviceWords(starter: Starter): string[] {
  const [command, ...more] = startWords(starter)
  return path.isAbsolute(command) ? [command, ...more] : ['/usr/bin/env', command, ...more]
}

/** Replaces each `{{name}}` by its escaped value. Throws for a name without a value. */
export function fill(
  template: string,
  values: Readonly<Record<string, string>>,
  escape: (value: string) => string,
): string {
  return template.replace(/\{\{([a-z_]+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`the template has an unknown name {{${name}}}`)
    return escape(value)
  })
}

export function readTemplate({ cli }: Invocation, name: string): string {
  return fs.readFileSync(path.join(cli.templates, name), 'utf8')
}

export function escapeXml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
}

export const utf8 = {
  encode: (content: string) => Buffer.from(content, 'utf8'),
  decode: (bytes: Buffer) => bytes.toString('utf8'),
}
