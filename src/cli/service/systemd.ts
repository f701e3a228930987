/**
 * systemd user units. Personas share the template `turnbell-daemon@.service`; each has its own link in
 * `default.target.wants`, which is what "enabled" means. See systemd.service(5), systemd.unit(5).
 */
import fs from 'node:fs'
import path from 'node:path'
import { settingsDirectory } from '../../system/home.ts'
import type { Invocation } from '../cli.ts'
import { runOrFail } from './run.ts'
import {
  fill,
  readTemplate,
  servicePath,
  serviceWords,
  utf8,
  type Service,
  type ServiceManager,
  type Unit,
} from './unit.ts'

const DAEMON_TEMPLATE = 'turnbell-daemon@.service'

export function systemd(invocation: Invocation): ServiceManager {
  const { cli, home } = invocation
  const directory = path.join(settingsDirectory(cli.env), 'systemd', 'user')
  const wants = path.join(directory, 'default.target.wants')
  const systemctl = (...args: string[]) => runOrFail(cli, 'systemctl', ['--user', ...args])
  const link = (unit: Unit) => path.join(wants, unit.name)
  const values = {
    command: serviceWords(cli).map(word).join(' '),
    home: word(home.root),
    path: quoted(unspecified(`PATH=${servicePath(invocation)}`)),
  }

  return {
    name: 'systemd',
    ...utf8,

    unit(service: Service) {
      const template = service.kind === 'hub' ? 'turnbell-hub.service' : DAEMON_TEMPLATE
      return {
        service,
        name: service.kind === 'hub' ? template : `turnbell-daemon@${service.identity}.service`,
        file: path.join(directory, template),
        content: fill(readTemplate(invocation, template), values, (value) => value),
        home: `--home ${word(home.root)}\n`,
      }
    },

    async enable(unit) {
      // The link is what `enable` makes; made here it also holds where no user manager answers yet.
      fs.mkdirSync(wants, { recursive: true })
      fs.rmSync(link(unit), { force: true })
      fs.symlinkSync(unit.file, link(unit))
      await systemctl('daemon-reload')
      // One that runs would go on as it was written before.
      await systemctl('try-restart', unit.name)
      await systemctl('enable', '--now', unit.name)
    },

    async disable(unit) {
      await cli.runProgram('systemctl', ['--user', 'disable', '--now', unit.name])
      fs.rmSync(link(unit), { force: true })
    },

    isEnabled: (unit) => fs.existsSync(unit.file) && isThere(link(unit)),

    sharers(unit) {
      if (unit.service.kind === 'hub' || !fs.existsSync(wants)) return []
      return fs
        .readdirSync(wants)
        .filter((name) => /^turnbell-daemon@.+\.service$/.test(name) && name !== unit.name)
    },

    async forget(unit) {
      await cli.runProgram('systemctl', ['--user', 'daemon-reload'])
      await cli.runProgram('systemctl', ['--user', 'reset-failed', unit.name])
    },

    async state(unit) {
      const asked = ['ActiveState', 'MainPID', 'ExecMainStatus', 'UnitFileState']
      const { code, stdout } = await cli.runProgram('systemctl', [
        '--user',
        'show',
        unit.name,
        `--property=${asked.join(',')}`,
      ])
      const shown = new Map(
        stdout.split('\n').map((line) => [line.split('=', 1)[0], line.slice(line.indexOf('=') + 1)]),
      )
      const installed = this.isEnabled(unit)
      const pid = Number(shown.get('MainPID') ?? 0)
      return {
        manager: 'systemd',
        unit: unit.name,
        file: unit.file,
        installed,
        enabled: installed,
        state: code === 0 ? (shown.get('ActiveState') ?? 'unknown') : 'unknown',
        pid: pid > 0 ? pid : null,
        last_exit: code === 0 && shown.has('ExecMainStatus') ? Number(shown.get('ExecMainStatus')) : null,
      }
    },
  }
}

const isThere = (link: string) => fs.lstatSync(link, { throwIfNoEntry: false }) !== undefined

/** `%` begins a specifier wherever it stands. See systemd.unit(5), "Specifiers". */
const unspecified = (text: string) => text.replace(/%/g, '%%')

const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`

/**
 * One word of an ExecStart line. `$` begins a variable wherever it stands (in an Environment line it does not);
 * blanks, quotes and backslashes need quotes around the word. See systemd.service(5), "Command lines".
 */
export function word(text: string): string {
  const plain = unspecified(text).replace(/\$/g, () => '$$')
  return /^[\w/.,:=@+%$-]+$/.test(plain) ? plain : quoted(plain)
}
