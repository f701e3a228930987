/** The home: whose it is, who can read it, and whether what stands in it can be understood. */
import fs from 'node:fs'
import { TurnbellError } from '../../contracts/errors.ts'
import { ensurePrivateDirectory, privateDirectories } from '../../system/home.ts'
import { shellWord } from '../../system/shell-word.ts'
import { readSecrets } from '../../system/secrets.ts'
import type { Invocation } from '../cli.ts'
import { broken, fine, fixedBy, refusedBy, warning, type Finding, type Fix } from './finding.ts'

/** A queue that cannot grow accepts nothing any more. */
const FREE_BYTES_MIN = 100 * 1024 * 1024

/** Makes nothing: a home that is not there yet is no fault. */
export function checkHome({ home, cli }: Invocation): Finding {
  if (!fs.existsSync(home.root))
    return warning('home', `${home.root} is not there yet`, '`turnbell up` or any first start makes it.')
  const open = privateDirectories(home).filter((directory) => isOpen(directory, 0o077))
  const found = attempt('home', cli.ids, () => {
    for (const directory of privateDirectories(home)) {
      if (fs.existsSync(directory)) ensurePrivateDirectory(directory)
    }
    fs.accessSync(home.root, fs.constants.W_OK)
    return fine('home', home.root)
  })
  return found.state === 'ok' || open.length === 0 ? found : fixedBy(found, closing(open, 0o700))
}

export function checkSecrets({ home, cli }: Invocation): Finding[] {
  if (!fs.existsSync(home.root)) return []
  const open = [home.operator_token, home.signing_key].filter((file) => isOpen(file, 0o077))
  const found = attempt('secrets', cli.ids, () =>
    readSecrets(home).operator_token === null
      ? warning('secrets', 'no operator token yet', 'The first `turnbell hub` or `turnbell up` makes it.')
      : fine('secrets', 'only you can read them'),
  )
  return [found.state === 'ok' || open.length === 0 ? found : fixedBy(found, closing(open, 0o600))]
}

/** Own files and directories that others could use. */
function isOpen(file: string, mask: number): boolean {
  const stat = fs.statSync(file, { throwIfNoEntry: false })
  if (process.platform === 'win32' || stat === undefined) return false
  return stat.uid === process.getuid?.() && (stat.mode & mask) !== 0
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
    const stands = fs.existsSync(home.config) ? home.config : 'the defaults; there is no config.yaml'
    return fine('config', `${stands} (${count} ${count === 1 ? 'persona' : 'personas'})`)
  })
}

export function checkSpace({ home: { root } }: Invocation): Finding[] {
  if (!fs.existsSync(root)) return []
  const { bavail, bsize } = fs.statfsSync(root)
  const free = bavail * bsize
  const detail = `${Math.round(free / 1024 / 1024)} MiB free`
  if (free >= FREE_BYTES_MIN) return [fine('disk', detail)]
  return [broken('disk', detail, `Make room where ${root} lies: a full disk refuses every new signal.`)]
}

function attempt(check: string, ids: Invocation['cli']['ids'], look: () => Finding): Finding {
  try {
    return look()
  } catch (error) {
    const { code, path: file } = error as NodeJS.ErrnoException
    if (error instanceof TurnbellError || code === undefined) return refusedBy(check, error, ids)
    return broken(check, `${file ?? check}: ${code}`, 'Give it back to yourself, or use --home DIR.')
  }
}
