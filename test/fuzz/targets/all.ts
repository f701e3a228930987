/** What is fuzzed, in the order in which it is. */
import type { Target } from '../target.ts'
import { agentLines } from './agent-lines.ts'
import { clientFiles } from './client-files.ts'
import { clientFrames } from './client-frames.ts'
import { config } from './config.ts'
import { eventLog } from './event-log.ts'
import { gitOutput } from './git-output.ts'
import { gitTexts } from './git-texts.ts'
import { hooks } from './hooks.ts'
import { http } from './http.ts'
import { hubAnswers } from './hub-answers.ts'
import { hubFrames } from './hub-frames.ts'
import { journalDamage, journalLines } from './journal.ts'
import { journalSegments } from './journal-segments.ts'
import { mcpHttp } from './mcp-http.ts'
import { mcpStdio } from './mcp-stdio.ts'
import { memoryFiles } from './memory-files.ts'
import { memoryLog, memoryTable, recordFiles } from './memory-text.ts'
import { opencodeAnswers } from './opencode-answers.ts'
import { routines } from './routines.ts'
import { screens } from './screens.ts'
import { snapshot, snapshotMarks } from './snapshot.ts'
import { socketLines } from './socket-lines.ts'
import { spoolFiles } from './spool-files.ts'
import { spool } from './spool.ts'
import { tokenAnswers } from './token-answers.ts'
import { tokens } from './tokens.ts'
import { vectors } from './vectors.ts'
import { webAnswers, webBytes } from './web.ts'

export const TARGETS: readonly Target[] = [
  ...[clientFrames, hubFrames, hubAnswers, socketLines, http, mcpHttp, mcpStdio, tokenAnswers, tokens],
  ...[journalDamage, journalLines, snapshot, snapshotMarks, memoryLog, memoryTable, recordFiles, memoryFiles],
  ...[journalSegments, spoolFiles, eventLog, vectors, gitOutput, gitTexts, webAnswers, webBytes],
  ...[config, clientFiles, hooks, spool, routines, screens, agentLines, opencodeAnswers],
]
