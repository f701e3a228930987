/** The home: whose it is, who can read it, and whether what stands in it can be understood. */
import fs from 'node:fs'
import { TurnbellError } from '../../contracts/errors.ts'
import { ensurePrivateDirectory, privateDirectories } from '../../system/home.ts'
import { readSecrets } from '../../system/secrets.ts'
import type { Invocation } from '../cli.ts'
import { broken, fine, refusedBy, warning, type Finding } from './finding.ts'

/** A queue that cannot grow accepts nothing any more. */
const FREE_BYTES_MIN = 100 * 1024 * 1024

/** Makes nothing: a home that is not there yet is no fault. */
export function checkHome(invocation: Invocation): Finding[] {
  const { home, cli } = invocation
  if (!fs.existsSync(home.root)) {
    return [warning('home', `${home.root} is not there yet`, '`turnbell up` or any first start makes it.')]
  }
  return [
    attempt('home', cli.ids, () => {
      for (const directory of privateDirectories(home)) {
        if (fs.existsSync(directory)) ensurePrivateDirectory(directory)
      }
      fs.accessSync(home.root, fs.constants.W_OK)
      return fine('home', home.root)
    }),
    attempt('secrets', cli.ids, () =>
      readSecrets(home).operator_token === null
        ? warning('secrets', 'no operator token yet', 'The first `turnbell hub` or `turnbell up` makes it.')
        : fine('secrets', 'only you can read them'),
    ),
    checkSpace(home.root),
  ]
}

export function checkConfig(invocation: Invocation): Finding {
  const { home, cli } = invocation
  return attempt('config', cli.ids, () => {
    const count = Object.keys(invocation.config().personas).length
    const stands = fs.existsSync(home.config) ? home.config : 'the defaults; there is no config.yaml'
    return fine('config', `${stands} (${count} ${count === 1 ? 'persona' : 'personas'})`)
  })
}

function checkSpace(root: string): Finding {
  const { bavail, bsize } = fs.statfsSync(root)
  const free = bavail * bsize
  const detail = `${Math.round(free / 1024 / 1024)} MiB free`
  return free >= FREE_BYTES_MIN
    ? fine('disk', detail)
    : broken('disk', detail, `Make room where ${root} lies: a full disk refuses every new signal.`)
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
