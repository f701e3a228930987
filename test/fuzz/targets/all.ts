/** What is fuzzed, in the order in which it is. */
import type { Target } from '../target.ts'
import { clientFrames } from './client-frames.ts'
import { http } from './http.ts'
import { mcpHttp } from './mcp-http.ts'
import { mcpStdio } from './mcp-stdio.ts'

export const TARGETS: readonly Target[] = [clientFrames, http, mcpHttp, mcpStdio]
