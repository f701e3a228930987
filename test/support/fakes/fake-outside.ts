/** The fake world outside of a hub. Nothing is reachable unless the test configures it. */
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { Outside } from '../../../src/hub/routines.ts'
import type { ProgramResult, ProgramRun } from '../../../src/ports/step-runner.ts'
import type { WebResponse, WebRequest } from '../../../src/ports/web.ts'
import { systemPatterns } from '../../../src/system/patterns.ts'

export interface PlayedOutside extends Outside {
  /** All programs and requests, in order. */
  ran: ProgramRun[]
  asked: WebRequest[]
}

export function playedOutside(
  played: {
    program?: (run: ProgramRun) => Partial<ProgramResult>
    web?: (request: WebRequest) => Partial<WebResponse>
    variables?: Record<string, string>
  } = {},
): PlayedOutside {
  const [ran, asked]: [ProgramRun[], WebRequest[]] = [[], []]
  return {
    ...{ ran, asked, patterns: systemPatterns },
    variable: (name) => played.variables?.[name],
    programs: {
      directory: (root) => root,
      async run(program) {
        ran.push(program)
        if (played.program === undefined)
          throw new TurnbellError('program_failed', { detail: 'There are no programs.' })
        return {
          exit_code: 0,
          timed_out: false,
          stdout: '',
          stderr: '',
          truncated: false,
          ...played.program(program),
        }
      },
    },
    web: {
      async request(request) {
        asked.push(request)
        if (played.web === undefined)
          throw new TurnbellError('request_failed', { detail: 'There is no network.' })
        return { status: 200, headers: {}, body: '', truncated: false, ...played.web(request) }
      },
    },
  }
}
