/** All fuzz targets, in the order in which they run. */
import type { Target } from '../target.ts'
import { agentLines } from './agent-lines.ts'
import { clientFiles } from './files/client-files.ts'
import { clientFrames } from './client-frames.ts'
import { config } from './files/config.ts'
import { eventLog } from './files/event-log.ts'
import { gitOutput } from './files/git-output.ts'
import { gitTexts } from './files/git-texts.ts'
import { hooks } from './hooks.ts'
import { http } from './http.ts'
import { hubAnswers } from './hub-answers.ts'
import { hubFrames } from './hub-frames.ts'
import { journalDamage, journalLines } from './files/journal.ts'
import { journalSegments } from './files/journal-segments.ts'
import { mcpHttp } from './mcp-http.ts'
import { mcpStdio } from './mcp-stdio.ts'
import { memoryFiles } from './files/memory-files.ts'
import { memoryLog, memoryTable, recordFiles } from './files/memory-text.ts'
import { opencodeAnswers } from './opencode-answers.ts'
import { routines } from './routines.ts'
import { screens } from './screens.ts'
import { snapshot, snapshotMarks } from './files/snapshot.ts'
import { socketLines } from './socket-lines.ts'
import { spoolFiles } from './files/spool-files.ts'
import { spool } from './files/spool.ts'
import { tokenAnswers } from './token-answers.ts'
import { tokens } from './tokens.ts'
import { vectors } from './files/vectors.ts'
import { webAnswers, webBytes } from './web.ts'

export const TARGETS: readonly Target[] = [
  ...[clientFrames, hubFrames, hubAnswers, socketLines, http, mcpHttp, mcpStdio, tokenAnswers, tokens],
  ...[journalDamage, journalLines, snapshot, snapshotMarks, memoryLog, memoryTable, recordFiles, memoryFiles],
  ...[journalSegments, spoolFiles, eventLog, vectors, gitOutput, gitTexts, webAnswers, webBytes],
  ...[config, clientFiles, hooks, spool, routines, screens, agentLines, opencodeAnswers],
]
