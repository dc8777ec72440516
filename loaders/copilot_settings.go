package loaders

import (
	"strings"

	"fusebox/loaders/jsonc"
	"fusebox/model"
)

// The settings files of Copilot CLI: the user's settings.json and two at the root of a repository. One value of a wrong type
// makes a whole file count for nothing (observed on 1.0.102): without a word in the user's file, with a warning in the others.

// copilotSettingsKeys are the keys whose wrong type was seen to do that, by what their values must be. Keys inside of their
// objects are left out.
const (
	copilotFlags = `mouse askUser autoUpdate bashEnv showTipsOnStartup beep beepOnSchedule notifications terminalNotifications taskbarPresence
		includeCoAuthoredBy compactPaste copyOnSelect respectGitignore imageGeneration imageGenerationWatermark memory
		contextManagementTools connectors continueOnAutoMode stayInAutopilot shellShortcut renderMarkdown renderHexColors inlineImages
		scrollbar pinnedPrompts remoteExport screenReader storeTokenPlaintext stream streamerMode updateTerminalTitle terminalProgress
		enableAllGithubMcpTools githubMcpInsiders showReasoning showTimestamps showToolDurations disableAllHooks remoteSessions experimental`
	copilotTextLists = `disabledMcpServers powershellFlags allowedUrls deniedUrls companyAnnouncements skillDirectories ignoredSkillsLocations
		disabledSkills disabledHooks enabledMcpServers githubMcpToolsets githubMcpTools`
	copilotTexts = `autoUpdatesChannel banner bannerStyle keepAlive worktreeBaseRef defaultMode defaultPermissionMode mergeStrategy editorMode
		transcriptView logLevel worktreePathTemplate proxyKerberosServicePrincipal proxyUrl model modelProviderId planModel
		planModelProviderId assistedApprovalInstructions copilotUrl`
	copilotObjects = `builtInAgents subagents workflows sidebar footer tabs customAgents ide dynamicRetrieval sandbox extensions telemetry voice
		ahpEnvironment permissions hooks statusLine extraKnownMarketplaces enabledFeatureFlags enabledPlugins feature_flags`
)

// copilotSettingsMisfit names the first value of a settings file that has a wrong type; why is empty when all fit.
func copilotSettingsMisfit(root jsonc.Value) (key string, bad jsonc.Value, why string) {
	for _, kind := range []struct {
		keys, what string
		fits       func(jsonc.Value) bool
	}{
		{copilotFlags, "true or false", isFlag},
		{copilotTextLists, "a list of texts", isTextList},
		{copilotTexts, "a text", isText},
		{copilotObjects, "an object", isKind(jsonc.Object)},
	} {
		for key := range strings.FieldsSeq(kind.keys) {
			if v := root.Get(key); v.Exists() && !kind.fits(v) {
				return key, v, key + " must be " + kind.what
			}
		}
	}
	return "", jsonc.Value{}, ""
}

// readSettingsFile reads a settings file; one that does not count is malformed.
func (c *copilot) readSettingsFile(path string, scope model.Scope, o jsonc.Options) *ConfigFile {
	f := c.r.Peek(path, scope)
	c.r.ParseJSON(f, o)
	if !f.OK() {
		return f
	}
	if key, bad, why := copilotSettingsMisfit(f.Root()); why != "" && key != copilotOffKey {
		c.r.Refuse(f, f.At(key, bad), why+": Copilot CLI takes nothing from this file")
	}
	return f
}
