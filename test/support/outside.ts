/** The world outside of a hub, as a test plays it. Where the test says nothing, nothing can be reached. */
import { TurnbellError } from '../../src/contracts/errors.ts'
import type { Outside } from '../../src/hub/routines.ts'
import type { ProgramEnd, ProgramRun } from '../../src/ports/programs.ts'
import type { WebAnswer, WebRequest } from '../../src/ports/web.ts'
import { systemPatterns } from '../../src/system/patterns.ts'

export interface PlayedOutside extends Outside {
  /** Everything that was run and asked for, in order. */
  ran: ProgramRun[]
  asked: WebRequest[]
}

export function playedOutside(
  played: {
    program?: (run: ProgramRun) => Partial<ProgramEnd>
    web?: (request: WebRequest) => Partial<WebAnswer>
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
          cut: false,
          ...played.program(program),
        }
      },
    },
    web: {
      async request(request) {
        asked.push(request)
        if (played.web === undefined)
          throw new TurnbellError('request_failed', { detail: 'There is no network.' })
        return { status: 200, headers: {}, body: '', cut: false, ...played.web(request) }
      },
    },
  }
}
