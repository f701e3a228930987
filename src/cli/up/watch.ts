/** Collects snapshots: the status of daemons from their control sockets, and doorbells and mail from the hub. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { DaemonStatus } from '../../contracts/control.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { timestamp } from '../../ports/clock.ts'
import { VERSION } from '../../system/version.ts'
import type { Invocation } from '../cli.ts'
import { withDoorbells, type RecentDoorbell } from './recent-doorbells.ts'
import type { ProcessGroup } from './process-group.ts'
import { withMail, type Mail } from './mail.ts'
import type { Snapshot } from './view.ts'

export interface Watch {
  look(): Promise<Snapshot>
}

export function createWatch(invocation: Invocation, group: ProcessGroup): Watch {
  let bells: RecentDoorbell[] = []
  // Otherwise older doorbells would be shown as new.
  const began = timestamp(invocation.cli.clock)
  let since: number | string = began
  let mail: Mail[] = []
  let mail_since: number | string = began
  let hub_pid: number | null = null

  const lookAtHub = async (): Promise<number | null> => {
    const hub = invocation.hub()
    const { pid } = group.hub()
    // A restarted hub may number its events from the beginning again.
    if (pid !== hub_pid) since = mail_since = began
    hub_pid = pid
    const { uptime_s } = await hub.health()
    const pushed = await hub.events({ since: mail_since, type: 'signal.pushed' })
    mail = withMail(mail, pushed.events)
    mail_since = pushed.next
    for (;;) {
      const page = await hub.events({ since, type: 'doorbell.' })
      bells = withDoorbells(bells, page.events)
      since = page.next
      if (page.events.length < LIMITS.events_page_max) return uptime_s
    }
  }

  return {
    async look() {
      const daemons = group.daemons()
      const [hub_uptime_s, ...statuses] = await Promise.all([
        orNull(lookAtHub()),
        ...daemons.map((view) =>
          view.state === 'running' ? orNull(invocation.control(view.name).status()) : null,
        ),
      ])
      return {
        version: VERSION,
        home: invocation.home.root,
        hub: group.hub(),
        hub_url: invocation.hub().url,
        hub_uptime_s,
        daemons: daemons.map((view, at) => ({ view, status: statuses[at] as DaemonStatus | null })),
        wrapped: group.wrapped(),
        doorbells: bells,
        mail,
      }
    },
  }
}

/** Returns null for a process that does not answer. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof TurnbellError) return null
    throw error
  }
}
