package loaders

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// Which settings files Claude Code ignores as a whole: the checks of its schema that are about single values. The deep ones
// (permissions, sandbox, market places) are left out, but for the kind of the value.

// claudeSettingsTypes are the kinds that settings must have. A file with one value of another kind is ignored as a whole; a
// key that is not here may hold anything (observed on 2.1.332, and strings of the program).
func claudeSettingsTypes(key string) []jsonc.Kind {
	for _, group := range claudeSettingsKinds {
		if slices.Contains(strings.Fields(group.keys), key) {
			return group.kinds
		}
	}
	return nil
}

var claudeSettingsKinds = []struct {
	kinds []jsonc.Kind
	keys  string
}{
	{[]jsonc.Kind{jsonc.Bool}, `allowAllClaudeAiMcps allowClaudeInChromeWithManagedMcp allowManagedHooksOnly allowManagedMcpServersOnly
		allowManagedPermissionRulesOnly allowNestedModelAccessUnderForceLogin alwaysThinkingEnabled
		autoCompactEnabled autoContinueAtUsageLimit autoDreamEnabled autoMemoryEnabled autoScrollEnabled autoUploadSessions
		awaySummaryEnabled agentPushNotifEnabled bashEditDiffEnabled channelsEnabled clawdFileProgressEnabled disableAgentView
		disableAllHooks disableArtifact disableBundledSkills disableClaudeAiConnectors disableCommandPluginSources
		disableDirectMcpSkills disableRemoteControl disableReplyCheck disableSideloadFlags disableSkillShellExecution
		disableWindowsBashCommandSplit disableWorkflows doneMeansMerged emojiCompletionEnabled enableAllProjectMcpServers
		enableArtifact enableWorkflows enforceAvailableModels fastMode fastModePerSessionOptIn fileCheckpointingEnabled
		forceRemoteSettingsRefresh idleCompaction includeCoAuthoredBy includeGitInstructions inputNeededNotifEnabled
		isolatePeerMachines precomputeCompactionEnabled prefersReducedMotion promptSuggestionEnabled remoteControlAtStartup
		respectGitignore respondToBashCommands responseComparisonEnabled showClearContextOnPlanAccept showMessageTimestamps
		showThinkingSummaries showTurnDuration skipDangerousModePermissionPrompt skipWebFetchPreflight skipWorkflowUsageWarning
		spinnerTipsEnabled switchModelsOnFlag syncClaudeAiPlugins syncClaudeAiSkills syntaxHighlightingDisabled
		terminalProgressBarEnabled terminalTitleFromRename todoFeatureEnabled totalTokensReminderAfterUserTurn verbose voiceEnabled
		wheelScrollAccelerationEnabled workflowKeywordTriggerEnabled wslInheritsWindowsSettings`},
	{[]jsonc.Kind{jsonc.String}, `$schema advisorModel agent apiKeyHelper attributionProject autoMemoryDirectory autoUpdatesChannel
		availableModelsMatch awsAuthRefresh awsCredentialExport claudeMd daemonColdStart defaultShell disableAutoMode
		downloadsMirrorUrl feedbackDrafts gcpAuthRefresh language managedSourcesBehavior minimumVersion model modelCatalogPublicKey
		modelCatalogUrl otelHeadersHelper outputStyle parentSettingsBehavior plansDirectory pluginTrustMessage prUrlTemplate
		processWrapper proxyAuthHelper requiredMaximumVersion requiredMinimumVersion timeFormat timeZone totalTokensReminder tui
		workflowSizeGuideline`},
	{[]jsonc.Kind{jsonc.Number}, `cleanupPeriodDays desktopSessionCleanupPeriodDays feedbackSurveyRate skillListingBudgetFraction
		skillListingMaxDescChars totalTokensReminderBudget`},
	{[]jsonc.Kind{jsonc.Array}, `allowedChannelPlugins allowedHttpHookUrls availableModels claudeMdExcludes companyAnnouncements
		deniedModels fallbackModel httpHookAllowedEnvVars pluginSuggestionMarketplaces sshConfigs strictKnownMarketplaces`},
	{[]jsonc.Kind{jsonc.Array, jsonc.String}, `disabledMcpjsonServers enabledMcpjsonServers forceLoginOrgUUID`},
	{[]jsonc.Kind{jsonc.Object}, `attributionProjectPolicy autoMode breakReminder enabledPlugins env extraKnownMarketplaces fileSuggestion
		modelOverrides modelPicker modelPricing permissions pluginConfigs quietHours remote remoteControl remoteTools sandbox
		skillOverrides spinnerVerbs statusLine voice worktree`},
	{[]jsonc.Kind{jsonc.Object, jsonc.Bool}, `attribution`},
}

// claudeSettingsWords are the words that some of them are one of.
var claudeSettingsWords = map[string][]string{
	"autoUpdatesChannel":     {"latest", "stable", "rc"},
	"availableModelsMatch":   {"prefix", "exact"},
	"daemonColdStart":        {"transient", "ask"},
	"defaultShell":           {"bash", "powershell"},
	"disableAutoMode":        {"disable"},
	"feedbackDrafts":         {"notify", "quiet", "off"},
	"managedSourcesBehavior": {"first-wins", "merge"},
	"parentSettingsBehavior": {"first-wins", "merge"},
	"totalTokensReminder":    {"off", "infinite", "fixed", "countdown", "padded-countdown"},
	"tui":                    {"default", "fullscreen"},
	"workflowSizeGuideline":  {"unrestricted", "small", "medium", "large"},
}

// claudeTextLists are lists that hold nothing but texts.
var claudeTextLists = []string{"allowedHttpHookUrls", "availableModels", "claudeMdExcludes", "companyAnnouncements", "deniedModels",
	"disabledMcpjsonServers", "enabledMcpjsonServers", "fallbackModel", "httpHookAllowedEnvVars", "pluginSuggestionMarketplaces"}

// claudeSettingsFault names the value that makes Claude Code ignore a settings file, and its line; or "".
func claudeSettingsFault(root jsonc.Value) (string, int) {
	if root.Kind() != jsonc.Object {
		return "the top level is " + typeWord(root) + ", not an object", 1
	}
	for _, m := range root.Members() {
		if m.Shadowed {
			continue
		}
		if kinds := claudeSettingsTypes(m.Key); kinds != nil && !slices.Contains(kinds, m.Value.Kind()) {
			return fmt.Sprintf("line %d: %s is %s", m.Line(), m.Key, typeWord(m.Value)), m.Line()
		}
		if words := claudeSettingsWords[m.Key]; words != nil {
			if s, _ := m.Value.Str(); !slices.Contains(words, s) {
				return fmt.Sprintf("line %d: %s must be one of %s", m.Line(), m.Key, strings.Join(words, ", ")), m.Line()
			}
		}
		if _, ok := m.Value.Strings(); !ok && m.Value.Kind() == jsonc.Array && slices.Contains(claudeTextLists, m.Key) {
			return fmt.Sprintf("line %d: %s holds something else than texts", m.Line(), m.Key), m.Line()
		}
		if !claudeNumberFits(m) {
			return fmt.Sprintf("line %d: %s is out of its range", m.Line(), m.Key), m.Line()
		}
		if bad := claudeCommandFault(m); bad != "" {
			return fmt.Sprintf("line %d: %s", m.Line(), bad), m.Line()
		}
	}
	return "", 0
}

// claudeNumberFits checks the range of the settings that are numbers.
func claudeNumberFits(m jsonc.Member) bool {
	raw, ok := m.Value.Number()
	n, err := strconv.ParseFloat(raw, 64)
	if !ok || err != nil {
		return true
	}
	switch m.Key {
	case "feedbackSurveyRate":
		return n >= 0 && n <= 1
	case "skillListingBudgetFraction":
		return n > 0 && n <= 1
	case "desktopSessionCleanupPeriodDays":
		return n == 0 || isPositiveInteger(m.Value)
	case "cleanupPeriodDays", "skillListingMaxDescChars", "totalTokensReminderBudget":
		return isPositiveInteger(m.Value)
	}
	return true
}

func isPositiveInteger(v jsonc.Value) bool {
	_, ok := positiveInteger(v)
	return ok
}

// claudeCommandFault checks the settings that name a command to run.
func claudeCommandFault(m jsonc.Member) string {
	if m.Key != "statusLine" && m.Key != "fileSuggestion" {
		return ""
	}
	if typ, _ := m.Value.Get("type").Str(); typ != "command" {
		return m.Key + `: type must be "command"`
	}
	if m.Value.Get("command").Kind() != jsonc.String {
		return m.Key + " has no command"
	}
	return ""
}

// readClaudeSettings reads a settings file. Unlike .mcp.json it may be UTF-16 with a byte order mark (observed on 2.1.332).
func readClaudeSettings(r *Reader, path string, scope model.Scope) *ConfigFile {
	f := r.Read(path, scope, 0)
	if f.OK() && len(f.Data) >= 2 && f.Data[0] == 0xff && f.Data[1] == 0xfe {
		units := make([]uint16, 0, len(f.Data)/2)
		for i := 2; i+1 < len(f.Data); i += 2 {
			units = append(units, uint16(f.Data[i])|uint16(f.Data[i+1])<<8)
		}
		doc, err := jsonc.Parse([]byte(string(utf16.Decode(units))), claudeJSON)
		if err == nil {
			f.JSON = doc
			r.Mark(f, model.FileRead, "UTF-16: Claude Code reads it, fusebox does not write it")
			return f
		}
	}
	r.ParseJSON(f, claudeJSON)
	return f
}
