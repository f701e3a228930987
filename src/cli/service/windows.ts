/** Services as tasks of the Windows Task Scheduler that start at logon. See schtasks /create /xml. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Invocation } from '../cli.ts'
import { runOrFail } from './run.ts'
import { escapeXml, fill, readTemplate, type ServiceManager } from './unit.ts'

const BOM = '\ufeff'

export function windowsTasks(invocation: Invocation): ServiceManager {
  const { cli, home } = invocation
  const { env } = cli
  const name = env['USERNAME'] ?? os.userInfo().username
  const user = env['USERDOMAIN'] === undefined ? name : `${env['USERDOMAIN']}\\${name}`

  return {
    name: 'task scheduler',
    // schtasks requires UTF-16 with a byte order mark; the XML declaration does not name the encoding.
    encode: (content) => Buffer.from(BOM + content, 'utf16le'),
    decode: (bytes) => bytes.toString('utf16le').replace(BOM, ''),

    unit(service) {
      const own = service.kind === 'hub' ? 'hub' : `daemon-${service.identity}`
      const persona = service.kind === 'hub' ? '' : service.identity
      const values = {
        node: cli.node,
        program: argument(cli.program),
        home: argument(home.root),
        persona,
        user,
      }
      const template = service.kind === 'hub' ? 'turnbell-hub.xml' : 'turnbell-daemon.xml'
      return {
        service,
        name: `\\turnbell\\${own}`,
        // The scheduler has a copy of its own. `status` and `uninstall` use this one.
        file: path.join(home.root, 'services', `${own}.xml`),
        content: fill(readTemplate(invocation, template), values, escapeXml),
        home: `--home ${escapeXml(argument(home.root))}`,
      }
    },

    async enable(unit) {
      await runOrFail(cli, 'schtasks', ['/Create', '/F', '/TN', unit.name, '/XML', unit.file])
      await runOrFail(cli, 'schtasks', ['/Run', '/TN', unit.name])
    },

    async disable(unit) {
      await cli.runProgram('schtasks', ['/End', '/TN', unit.name])
      await cli.runProgram('schtasks', ['/Delete', '/F', '/TN', unit.name])
    },

    isEnabled: (unit) => fs.existsSync(unit.file),
    sharers: () => [],
    async forget() {},

    async state(unit) {
      const { code, stdout } = await cli.runProgram('schtasks', [
        '/Query',
        '/TN',
        unit.name,
        '/FO',
        'CSV',
        '/NH',
      ])
      const installed = code === 0 && fs.existsSync(unit.file)
      return {
        manager: 'task scheduler',
        unit: unit.name,
        file: unit.file,
        installed,
        enabled: installed,
        // Columns "TaskName","Next Run Time","Status"; the last one is in the language of the machine.
        state: code === 0 ? (/"([^"]*)"\s*$/.exec(stdout.trim())?.[1] ?? 'unknown') : 'unknown',
        pid: null,
        last_exit: null,
      }
    },
  }
}

/** Escapes one argument for CommandLineToArgvW: quoted, with doubled backslashes before a quote. */
export function argument(text: string): string {
  if (/^[\w:\\/.@+-]+$/.test(text)) return text
  return `"${text.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`
}
