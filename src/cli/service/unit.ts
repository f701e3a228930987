/** A service as its manager sees it: the hub or one persona's daemon, and the file that describes it. */
import fs from 'node:fs'
import path from 'node:path'
import type { Invocation } from '../cli.ts'
import { startWords, type Starter } from '../start-words.ts'

export type Service = { kind: 'hub' } | { kind: 'persona'; identity: string }

export interface Unit {
  service: Service
  /** As the manager calls it: `turnbell-daemon@ada.service`, `com.turnbell.hub`, `\turnbell\hub`. */
  name: string
  /** Where it lies once installed. Several instances of one systemd template share a file. */
  file: string
  content: string
  /** The home as it stands in the content, to tell a unit of another home. */
  home: string
}

export interface ServiceState {
  manager: string
  unit: string
  file: string
  installed: boolean
  /** Starts by itself at the next login. */
  enabled: boolean
  /** The manager's own word: `active`, `failed`, `running`, … or `unknown` where it does not answer. */
  state: string
  pid: number | null
  last_exit: number | null
}

export interface ServiceManager {
  name: string
  unit(service: Service): Unit
  /** What `file` holds on disk. */
  encode(content: string): Buffer
  decode(bytes: Buffer): string
  /** Makes the manager know the written file, start it now and at every login. */
  enable(unit: Unit): Promise<void>
  /** Stops it, if it still runs, and takes it out of the manager. Not being there is no error. */
  disable(unit: Unit): Promise<void>
  /** Whether it starts by itself, as far as files tell; the manager need not answer. */
  isEnabled(unit: Unit): boolean
  /** Other services that the same file describes. */
  sharers(unit: Unit): string[]
  /** After files were removed. */
  forget(unit: Unit): Promise<void>
  state(unit: Unit): Promise<ServiceState>
}

/**
 * Where a service finds clients, git and what those start: as the person's shell does who installs it. Managers
 * have a short path of their own, in which a client from npm or a version manager is not. A folder relative
 * to where the person stood means nothing to a service.
 */
export function servicePath({ cli }: Invocation): string {
  // A unit is read line by line: a name with a line break in it has no place there.
  const usable = (folder: string) => path.isAbsolute(folder) && !/\p{Cc}/u.test(folder)
  const folders = (cli.env['PATH'] ?? '').split(path.posix.delimiter).filter(usable)
  const own = path.isAbsolute(cli.node) ? [path.dirname(cli.node)] : []
  return [...new Set([...folders, ...own, '/usr/bin', '/bin'])].join(path.posix.delimiter)
}

/**
 * The words that start turnbell, the first an absolute path: neither systemd nor launchd looks for a name in the PATH
 * of its unit, and env does.
 */
export function serviceWords(starter: Starter): string[] {
  const [command, ...more] = startWords(starter)
  return path.isAbsolute(command) ? [command, ...more] : ['/usr/bin/env', command, ...more]
}

/** `{{name}}` becomes the value, escaped for the place it stands in. A name without a value is a bug. */
export function fill(
  template: string,
  values: Readonly<Record<string, string>>,
  escape: (value: string) => string,
): string {
  return template.replace(/\{\{([a-z_]+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`the template asks for {{${name}}}`)
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
