package io.tenure.spring.boot;

import io.tenure.client.TenureClient;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/** Whether the service can be reached, where there is the Actuator. */
@AutoConfiguration(after = TenureAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnEnabledHealthIndicator("tenure")
public class TenureHealthAutoConfiguration {
    @Bean
    HealthIndicator tenureHealthIndicator(TenureClient client, Elections elections) {
        return new TenureHealthIndicator(client, elections);
    }
}
