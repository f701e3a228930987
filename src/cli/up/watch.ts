/** Asks the fleet how it is: daemons over their control sockets, the hub for the last doorbells. */
import { TurnbellError } from '../../contracts/errors.ts'
import type { DaemonStatus } from '../../contracts/control.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp } from '../../ports/clock.ts'
import { VERSION } from '../../system/version.ts'
import type { Invocation } from '../cli.ts'
import { withBells, type Bell } from './bells.ts'
import type { Fleet } from './fleet.ts'
import { withMail, type Mail } from './mail.ts'
import type { Snapshot } from './view.ts'

export interface Watch {
  look(): Promise<Snapshot>
}

export function createWatch(invocation: Invocation, fleet: Fleet): Watch {
  let bells: Bell[] = []
  // What rang before is history; it would be told as if it happened now.
  const began = timestamp(invocation.cli.clock)
  let since: number | string = began
  let mail: Mail[] = []
  let mail_since: number | string = began
  let hub_pid: number | null = null

  const lookAtHub = async (): Promise<number | null> => {
    const hub = invocation.hub()
    const { pid } = fleet.hub()
    // A restarted hub may count its events anew.
    if (pid !== hub_pid) since = mail_since = began
    hub_pid = pid
    const { uptime_s } = await hub.health()
    const pushed = await hub.events({ since: mail_since, type: 'signal.pushed' })
    mail = withMail(mail, pushed.events)
    mail_since = pushed.next
    for (;;) {
      const page = await hub.events({ since, type: 'doorbell.' })
      bells = withBells(bells, page.events)
      since = page.next
      if (page.events.length < LIMITS.events_page_max) return uptime_s
    }
  }

  return {
    async look() {
      const daemons = fleet.daemons()
      const [hub_uptime_s, ...statuses] = await Promise.all([
        orNull(lookAtHub()),
        ...daemons.map((part) =>
          part.state === 'running' ? orNull(invocation.control(part.name).status()) : null,
        ),
      ])
      return {
        version: VERSION,
        home: invocation.home.root,
        hub: fleet.hub(),
        hub_url: invocation.hub().url,
        hub_uptime_s,
        daemons: daemons.map((part, at) => ({ part, status: statuses[at] as DaemonStatus | null })),
        wrapped: fleet.wrapped(),
        bells,
        mail,
      }
    },
  }
}

/** One that does not answer right now is simply shown without its answer. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof TurnbellError) return null
    throw error
  }
}
