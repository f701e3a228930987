/** Checks the home: its owner, its permissions, its secrets, its configuration and the free space. */
import fs from 'node:fs'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { runningHub } from '../../system/config/hub-discovery.ts'
import { ensurePrivateDirectory, privateDirectories } from '../../system/config/home.ts'
import { obstacleAt } from '../../system/files/in-place.ts'
import { diskHint } from '../../system/files/system-error.ts'
import { shellWord } from '../../system/process/shell-word.ts'
import { readSecrets } from '../../system/config/secrets.ts'
import type { Invocation } from '../cli.ts'
import { broken, fine, fixedBy, refusedBy, warning, type Finding, type Fix } from './finding.ts'

/** Below this the hub may soon refuse every signal. */
const FREE_BYTES_MIN = 100 * 1024 * 1024

/** Creates nothing. A missing home is only a warning. */
export function checkHome({ home, cli }: Invocation): Finding {
  if (!fs.existsSync(home.root))
    return warning('home', `${home.root} does not exist yet`, 'Run `turnbell up`, which creates it.')
  const open = privateDirectories(home).filter((directory) => isOpen(directory))
  const finding = attempt('home', cli.ids, () => {
    for (const directory of privateDirectories(home)) {
      if (fs.existsSync(directory) || obstacleAt(directory) !== null) ensurePrivateDirectory(directory)
    }
    fs.accessSync(home.root, fs.constants.W_OK)
    touch(home.root)
    return fine('home', home.root)
  })
  return finding.state === 'ok' || open.length === 0 ? finding : fixedBy(finding, closing(open, 0o700))
}

/** Throws if the file system is read-only. `access` reports a file system as writable that the kernel remounted after an error. */
function touch(directory: string): void {
  const { atime, mtime } = fs.statSync(directory)
  fs.utimesSync(directory, atime, mtime)
}

export function checkSecrets({ home, cli }: Invocation): Finding[] {
  if (!fs.existsSync(home.root)) return []
  const open = [home.operator_token, home.signing_key].filter((file) => isOpen(file))
  const finding = attempt('secrets', cli.ids, () => {
    const { operator_token, signing_key } = readSecrets(home)
    const running = runningHub(home)
    if (running !== null && (operator_token === null || signing_key === null)) {
      const gone = operator_token === null ? home.operator_token : home.signing_key
      return broken(
        'secrets',
        `${gone} is gone; only the running hub still has its content`,
        `Restore it from a copy, or restart the hub, which creates a new one: \`kill ${running.pid}\`, then \`turnbell hub\` or \`turnbell up\`.`,
      )
    }
    return operator_token === null
      ? warning('secrets', 'no operator token yet', 'Run `turnbell hub` or `turnbell up`, which creates it.')
      : fine('secrets', 'only you can read them')
  })
  return [finding.state === 'ok' || open.length === 0 ? finding : fixedBy(finding, closing(open, 0o600))]
}

/** Returns true if the file is owned by this user and other users have access. */
function isOpen(file: string): boolean {
  const stat = fs.statSync(file, { throwIfNoEntry: false })
  if (process.platform === 'win32' || stat === undefined) return false
  return stat.uid === process.getuid?.() && (stat.mode & 0o077) !== 0
}

function closing(files: readonly string[], mode: number): Fix {
  return {
    does: files.map((file) => `chmod ${mode.toString(8)} ${shellWord(file)}`).join('; '),
    changes: [],
    run: async () => files.forEach((file) => fs.chmodSync(file, mode)),
  }
}

export function checkConfig(invocation: Invocation): Finding {
  const { home, cli } = invocation
  return attempt('config', cli.ids, () => {
    const count = Object.keys(invocation.config().personas).length
    const source = fs.existsSync(home.config) ? home.config : 'defaults, without a config.yaml'
    return fine('config', `${source} (${count} ${count === 1 ? 'persona' : 'personas'})`)
  })
}

export function checkSpace({ home: { root } }: Invocation): Finding[] {
  if (!fs.existsSync(root)) return []
  const { bavail, bsize } = fs.statfsSync(root)
  const free = bavail * bsize
  const detail = `${Math.round(free / 1024 / 1024)} MiB free`
  if (free >= FREE_BYTES_MIN) return [fine('disk', detail)]
  return [
    broken('disk', detail, `Free space on the disk of ${root}: on a full disk every new signal is refused.`),
  ]
}

function attempt(check: string, ids: Invocation['cli']['ids'], run: () => Finding): Finding {
  try {
    return run()
  } catch (error) {
    const { code, path: file } = error as NodeJS.ErrnoException
    if (error instanceof TurnbellError || code === undefined) return refusedBy(check, error, ids)
    return broken(check, `${file ?? check}: ${code}`, `${diskHint(code)}.`)
  }
}
